/**
 * A class in several versions, deployed one after the other on one database. Every step waits an hour, so that a test
 * decides what has happened when the next version comes; what that does is held against what `check` said before.
 */
import { expect, onTestFinished } from 'vitest'
import { type AnyWorkflow, type ConcreteClass, type Geneva, Workflow, type WorkflowHandle } from '../../src/index.ts'
import { type GenevaUnderTest, quickly } from './use-geneva.ts'
import { Gates, waitFor } from './wait-for.ts'

/** Steps with what each depends on, names separated by spaces: `{ a: '', b: 'a', c: 'a b' }`. */
export type Steps = Readonly<Record<string, string>>

export interface VersionOptions {
  readonly renamed?: Readonly<Record<string, string>>
  /** Steps that are `each` nodes, with the number of their items. */
  readonly each?: Readonly<Record<string, number>>
  readonly concurrency?: number
  /** A condition, which says no, and the steps that would run if it said yes, with what else each depends on. */
  readonly untaken?: { readonly condition: string; readonly steps: Steps }
  /** A stored name of its own, where it is not a version of the same class. */
  readonly type?: string
  readonly onMissingStep?: 'pause' | 'skip'
}

type Event = Awaited<ReturnType<WorkflowHandle['events']>>[number]

const hourMs = 3_600_000
let types = 0

export class Deploys {
  readonly #under: GenevaUnderTest
  readonly #type = `Order ${++types}`
  readonly #opened: Geneva[] = []
  #hours = 0
  /** What has run, in order. */
  readonly ran: string[] = []
  /** Steps that throw. */
  readonly failing = new Set<string>()
  /** Steps that stop in `gates`. */
  readonly held = new Set<string>()
  readonly gates = new Gates()

  /** Ends with the test: a worker that stays would work for the next one, by a clock of its own. */
  constructor(under: GenevaUnderTest) {
    this.#under = under
    onTestFinished(async () => {
      for (const step of this.held) this.gates.open(step)
      await Promise.all(this.#opened.map(geneva => geneva.close()))
    })
  }

  version(steps: Steps, options: VersionOptions = {}): ConcreteClass<AnyWorkflow> {
    const { renamed, each = {}, concurrency, untaken, type = this.#type, onMissingStep } = options
    const reach = (name: string, signal: AbortSignal) => this.#reach(name, signal)
    const perform = (name: string, signal: AbortSignal) => this.#perform(name, signal)
    const methods = Object.fromEntries(
      [...Object.keys(each), ...Object.keys(untaken?.steps ?? {})].map(name => [
        name,
        async function (this: AnyWorkflow) {
          return perform(this.execution.node, this.signal)
        },
      ]),
    )
    class Order extends Workflow {
      static {
        this.named(type)
        Object.assign(this.prototype, methods)
        if (renamed) this.renamed(renamed as never)
        if (onMissingStep) this.defaults({ onMissingStep })
        for (const [name, parents] of Object.entries(steps)) {
          const shared = { wait: hourMs, dependsOn: (parents === '' ? [] : parents.split(' ')) as never }
          const count = each[name]
          if (count === undefined) this.inline(name, shared, wf => perform(name, wf.signal))
          else {
            const items = async (wf: AnyWorkflow) => {
              await reach(`items of ${name}`, wf.signal)
              return Array.from({ length: count }, (_, index) => index) as never
            }
            this.each(name as never, { ...shared, items, ...(concurrency === undefined ? {} : { concurrency }) })
          }
        }
        if (untaken !== undefined) {
          this.condition(untaken.condition as never, () => false, {
            dependsOn: [],
            then: branch => {
              for (const [name, alsoDependsOn] of Object.entries(untaken.steps))
                branch.step(name as never, { alsoDependsOn: alsoDependsOn as never })
            },
          })
        }
      }
    }
    return Order as unknown as ConcreteClass<AnyWorkflow>
  }

  async #reach(name: string, signal: AbortSignal): Promise<void> {
    if (this.held.has(name)) await this.gates.stop(name, signal)
  }

  async #perform(name: string, signal: AbortSignal): Promise<string> {
    await this.#reach(name, signal)
    if (this.failing.has(name)) throw new Error(`${name} broke`)
    this.ran.push(name)
    return `${name} done`
  }

  /** A process with that version. It does nothing yet. */
  deploy(version: ConcreteClass<AnyWorkflow>): Geneva {
    const geneva = this.#under.another({ workflows: [version] })
    this.#opened.push(geneva)
    return geneva
  }

  /** Starts a workflow by the first version, and lets so many hours pass. */
  async start(version: ConcreteClass<AnyWorkflow>, hours: number): Promise<{ old: Geneva; wf: WorkflowHandle }> {
    const old = this.deploy(version)
    const { id } = await old.start(version as ConcreteClass<Workflow>)
    await this.pass(old, hours)
    // From a process that has none of the code and outlives them all.
    const wf = await this.#under.geneva.find(id)
    if (wf === null) throw new Error(`Workflow ${id} is gone.`)
    return { old, wf }
  }

  /** Lets hours pass in which one process works. */
  async pass(geneva: Geneva, hours: number): Promise<void> {
    for (let hour = 0; hour < hours; hour++) {
      await this.#setClock(geneva, ++this.#hours)
      await geneva.runDue(quickly)
    }
  }

  /** An hour later the process works on, until the step stands at its gate. */
  async hold(geneva: Geneva, step: string): Promise<void> {
    this.held.add(step)
    await this.#setClock(geneva, ++this.#hours)
    await geneva.startWorker(quickly)
    await this.gates.arrived(step)
  }

  async #setClock(geneva: Geneva, hours: number): Promise<void> {
    const store = await geneva.openedStore()
    // A little more than the hours, for the time that the test takes.
    store.setClockOffset(hours * (hourMs + 60_000))
  }

  /** What the version would do, by what it says itself. Nobody has heard of it yet. */
  async check(version: ConcreteClass<AnyWorkflow>): Promise<{ verdict: string; what: string }> {
    const geneva = this.deploy(version)
    const { findings, workflows, ok } = await geneva.check()
    expect(workflows).toBe(1)
    expect(findings).toHaveLength(1)
    const { verdict = '', what = '' } = findings[0] ?? {}
    expect(ok).toBe(verdict !== 'orphaned')
    return { verdict, what }
  }

  /**
   * The version heals the workflow as soon as it works, and does what `check` said it would: no more, no less. Returns
   * that process, and what was said.
   */
  async heal(wf: WorkflowHandle, version: ConcreteClass<AnyWorkflow>): Promise<{ fresh: Geneva; what: string }> {
    const { verdict, what } = await this.check(version)
    expect(verdict).toBe('heals')
    const before = (await wf.events()).length
    const fresh = await this.takeUp(wf, version)
    expect(sentenceFrom((await wf.events()).slice(before))).toBe(what)
    return { fresh, what }
  }

  /** The version works until it has healed the workflow. */
  async takeUp(wf: WorkflowHandle, version: ConcreteClass<AnyWorkflow>): Promise<Geneva> {
    const before = (await wf.events()).length
    const fresh = this.deploy(version)
    await this.#setClock(fresh, this.#hours)
    const worker = await fresh.startWorker(quickly)
    await waitFor(async () => (await wf.events()).slice(before).some(event => event.type === 'workflow.healed'))
    await worker.stop()
    return fresh
  }
}

/** It has come to its end, and its history is whole. */
export async function expectFinished(wf: WorkflowHandle): Promise<void> {
  expect((await wf.refresh()).state).toBe('finished')
  expect(await wf.currentExecutions()).toEqual([])
  expect(await wf.verifyHistory()).toBeNull()
}

/** What has happened, in the words of `check`. */
function sentenceFrom(events: readonly Event[]): string {
  const steps = (type: string, also: (event: Event) => boolean = () => true) =>
    events.filter(event => event.type === type && also(event)).map(event => event.node)
  const effects = [
    ...steps('step.scheduled').map(step => `${step} is scheduled`),
    ...steps('step.held', event => event.from === null).map(step => `${step} is held until it is resumed`),
    ...steps('step.withdrawn').map(step => `${step} goes back to waiting for what comes before it`),
    ...steps('step.renamed').map(step => `${step} goes on under its new name`),
    ...steps('step.released', event => event.from === 'waiting').map(
      step => `${step} need not wait for a place any more`,
    ),
    ...steps('step.skipped', event => event.from === null).map(
      step => `${step} is left out, because the workflow is past it`,
    ),
    ...(events.some(event => event.type === 'workflow.finished') ? ['it ends'] : []),
  ]
  const difference = events.find(event => event.type === 'workflow.healed')?.reason
  const changed = difference === null ? '' : `The graph has changed: ${difference}. `
  return `${changed}${effects.length === 0 ? 'Nothing happens to it now.' : `${effects.join('; ')}.`}`
}
