/** A step that a deploy has renamed: what was scheduled under the former name runs as the step that it is now. */
import { beforeEach, expect, it } from 'vitest'
import {
  type AnyWorkflow,
  type Compensation,
  type ConcreteClass,
  type Iteration,
  type Signal,
  Workflow,
} from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { deployOver } from '../support/deploy-over.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'
import { Gates } from '../support/wait-for.ts'

const ran: string[] = []

/** As the first deploy has it. The classes differ only in their names of steps. */
class Before extends Workflow {
  static {
    this.named('Import')
    this.allowMultiple()
    this.step('check', { if: () => false })
    this.resumableStep('load')
    this.each('send', { items: () => ['x', 'y'] })
  }
  check() {
    ran.push('check')
  }
  async load(iter: Iteration<number>) {
    for await (const item of iter.over([1, 2])) ran.push(`load ${item}`)
  }
  async send(item: string) {
    ran.push(`send ${item}`)
  }
}

class After extends Workflow {
  static {
    this.named('Import')
    this.allowMultiple()
    this.step('verify', { if: () => false })
    this.resumableStep('read')
    this.each('mail', { items: () => ['x', 'y'] })
    this.renamed({ check: 'verify', load: 'read', send: 'mail' })
  }
  verify() {
    ran.push('verify')
  }
  async read(iter: Iteration<number>) {
    for await (const item of iter.over([1, 2])) ran.push(`read ${item}`)
  }
  async mail(item: string) {
    ran.push(`mail ${item}`)
  }
}

/** A signal that comes early is kept under the name that the step has then. */
class Dispatch extends Workflow {
  static {
    this.named('Dispatch')
    this.step('send')
    this.waitFor('delivered')
  }
  send() {}
  delivered({ payload }: Signal<string>) {
    return payload
  }
}

class Shipping extends Workflow {
  static {
    this.named('Dispatch')
    this.step('send')
    this.waitFor('arrived')
    this.renamed({ delivered: 'arrived' })
  }
  send() {}
  arrived({ payload }: Signal<string>) {
    return payload
  }
}

forEachDatabase('a step that was renamed', database => {
  const under = useGeneva(database, { workflows: [Before] })
  beforeEach(() => {
    ran.length = 0
  })

  const deploy = () => under.another({ workflows: [After] })

  it.each([
    [0, ['read 1', 'read 2', 'mail x', 'mail y'], ['verify', 'read', 'mail', 'mail/0', 'mail/1']],
    [1, ['read 1', 'read 2', 'mail x', 'mail y'], ['check', 'read', 'mail', 'mail/0', 'mail/1']],
    [2, ['load 1', 'load 2', 'mail x', 'mail y'], ['check', 'load', 'mail', 'mail/0', 'mail/1']],
    [4, ['load 1', 'load 2', 'send x', 'mail y'], ['check', 'load', 'mail', 'send/0', 'mail/1']],
  ])('after %i steps goes on as what it is now: a condition, an iteration, items', async (steps, expected, names) => {
    const wf = await under.geneva.start(Before)
    if (steps > 0) await under.runDue({ maxSteps: steps, concurrency: 1 })
    await deploy().runDue({ ...quickly, concurrency: 1 })
    expect((await wf.refresh()).state).toBe('finished')
    expect(ran).toEqual(expected)
    expect((await wf.history()).map(execution => execution.step).toSorted()).toEqual(names.toSorted())
    const outcomes = (await wf.history()).map(execution => execution.outcome)
    expect(outcomes.filter(outcome => outcome === 'skipped_by_condition')).toHaveLength(1)
  })

  const signaled = () =>
    deployOver(under, { V1: Dispatch, V2: Shipping }, (old, id) =>
      old.signal(id, 'delivered', 'to Bob', { key: 'scan-1' }),
    )

  it('finds the signal that came before it was reached, and before it was renamed', async () => {
    const { wf, fresh } = await signaled()
    await fresh.runDue(quickly)
    expect((await wf.refresh()).state).toBe('finished')
    expect(await wf.output('arrived')).toBe('to Bob')
  })

  it('knows a signal that is sent again under either name', async () => {
    const { wf, fresh } = await signaled()
    await wf.signal('arrived', 'to Bob', { key: 'scan-1' })
    await fresh.signal(wf.id, 'delivered', 'to Bob', { key: 'scan-1' })
    await fresh.runDue(quickly)
    expect((await wf.refresh()).state).toBe('finished')
    expect((await wf.events()).filter(event => event.type === 'signal.received')).toHaveLength(1)
  })
})

type Version = ConcreteClass<AnyWorkflow>

const keys: string[] = []
const seen: unknown[] = []
const undone: string[] = []
let types = 0
let gates = new Gates()
const hourMs = 3_600_000

/** What the bank does with the call. */
type Bank = 'fails' | 'hangs' | 'takes it'
let bank: Bank = 'takes it'

const hourly = { retry: { attempts: 5, backoff: () => hourMs, jitter: false } }

/** A payment under its former and its present name, in several kinds. Each notes the key that it hands to the bank. */
function payments(kind: 'step' | 'each' | 'resumable', policy: object = hourly) {
  const name = `Paying ${++types}`
  const version = (step: 'pay' | 'charge') =>
    class extends Workflow {
      static {
        this.named(name)
        if (step === 'charge') this.renamed({ pay: 'charge' } as never)
        const options = { ...policy, compensate: 'refund' } as never
        if (kind === 'step') this.step(step as never, options)
        if (kind === 'each')
          this.each(step as never, { ...(options as object), items: () => ['mug'] as never } as never)
        if (kind === 'resumable') this.resumableStep(step as never, policy as never)
        for (const beside of ['a', 'b'] as const) this.step(beside, { dependsOn: [], compensate: 'undo' })
        this.step('ship', { dependsOn: step as never, wait: '1 hour' })
      }
      pay(given: any) {
        return this.call(given)
      }
      charge(given: any) {
        return this.call(given)
      }
      async call(given: any) {
        keys.push(this.execution.idempotencyKey)
        seen.push(kind === 'each' ? given : this.execution.input)
        if (kind === 'resumable') {
          for await (const item of (given as Iteration<number>).over([1, 2, 3, 4, 5])) seen.push(item)
          return
        }
        if (bank === 'hangs') await gates.stop('bank', this.signal)
        if (bank === 'fails') throw new Error('the bank does not answer')
      }
      async refund({ node, idempotencyKey }: Compensation) {
        undone.push(node)
        keys.push(idempotencyKey)
      }
      async a() {}
      async b() {}
      async undo({ node }: Compensation) {
        undone.push(node)
      }
      async ship() {}
    } as unknown as Version
  return { V1: version('pay'), V2: version('charge') }
}

forEachDatabase('the idempotency key of a step that was renamed', database => {
  const under = useGeneva(database, { workflows: [] })
  beforeEach(() => {
    for (const list of [keys, seen, undone]) list.length = 0
    bank = 'takes it'
    gates = new Gates()
  })

  /** The first attempt fails under the former name, the next one comes an hour later under the new one. */
  async function failedBefore(versions: { V1: Version; V2: Version }) {
    bank = 'fails'
    const { wf, fresh } = await deployOver(under, versions)
    bank = 'takes it'
    ;(await fresh.openedStore()).setClockOffset(hourMs + 60_000)
    return { wf, fresh }
  }

  it('is the same on the attempt before the deploy and on those after it', async () => {
    const { wf, fresh } = await failedBefore(payments('step'))
    bank = 'fails'
    await fresh.runDue(quickly)
    bank = 'takes it'
    ;(await fresh.openedStore()).setClockOffset(5 * hourMs)
    await fresh.runDue(quickly)
    expect((await wf.history()).map(({ step, attempt }) => `${step} ${attempt}`)).toEqual(
      expect.arrayContaining(['pay 1', 'charge 2', 'charge 3']),
    )
    expect(keys).toHaveLength(3)
    expect(new Set(keys).size).toBe(1)
    expect(seen).toEqual([undefined, undefined, undefined])
    expect(await wf.verifyHistory()).toBeNull()
  })

  it('has one compensation for all attempts, whatever was undone in between', async () => {
    const { wf, fresh } = await failedBefore(payments('step'))
    await fresh.runDue({ ...quickly, concurrency: 1 })
    await wf.cancel()
    await fresh.runDue(quickly)
    expect((await wf.refresh()).state).toBe('canceled')
    expect(undone.toSorted()).toEqual(['a', 'b', 'charge'])
    expect(undone[0]).toBe('charge')
  })

  it('is the same for an item, which stays what it is', async () => {
    const { fresh } = await failedBefore(payments('each'))
    await fresh.runDue(quickly)
    expect(keys).toHaveLength(2)
    expect(new Set(keys).size).toBe(1)
    expect(seen).toEqual(['mug', 'mug'])
  })

  it('is the same for a call that was given back by a worker which shut down', async () => {
    bank = 'hangs'
    const { fresh } = await deployOver(under, payments('step'), async old => {
      const worker = await old.startWorker(quickly)
      await gates.arrived('bank')
      await worker.stop()
    })
    bank = 'takes it'
    await fresh.runDue(quickly)
    expect(keys).toHaveLength(2)
    expect(new Set(keys).size).toBe(1)
  })

  it('is the same in all runs of a resumable step', async () => {
    const { wf, fresh } = await deployOver(under, payments('resumable', { yieldEvery: 1 }), old =>
      old.runDue({ ...quickly, maxSteps: 3, concurrency: 1 }),
    )
    await fresh.runDue(quickly)
    expect((await wf.events()).map(event => event.type)).toContain('step.renamed')
    expect((await wf.currentExecutions()).map(({ step }) => step)).toEqual(['ship'])
    expect(keys.length).toBeGreaterThan(1)
    expect(new Set(keys).size).toBe(1)
  })

  it('is the same with another input, which a letter was requeued with', async () => {
    bank = 'fails'
    const { wf, fresh } = await deployOver(under, payments('step', { onException: 'dlq' }))
    bank = 'takes it'
    ;(await fresh.openedStore()).setClockOffset(hourMs + 60_000)
    const [letter] = await fresh.deadLetters({ workflowId: wf.id })
    await fresh.requeue(letter?.id ?? '', { input: { amount: 5 } })
    await fresh.runDue(quickly)
    expect(new Set(keys).size).toBe(1)
    expect(seen).toEqual([undefined, { amount: 5 }])
  })
})
