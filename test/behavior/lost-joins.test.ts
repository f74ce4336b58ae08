/**
 * A step that fails in a branch which a join can do without ends its branch only, and its policy waits. If the join is lost
 * because another branch is skipped, what has waited acts, whatever the step ended as and whatever else has failed.
 */
import { beforeEach, expect, it } from 'vitest'
import { type Compensation, Workflow, type WorkflowHandle } from '../../src/index.ts'
import { type DatabaseName, forEachDatabaseSideBySide } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

const policies = ['pause', 'cancel', 'rollback', 'dlq'] as const
type Policy = (typeof policies)[number]

interface Place {
  readonly on: DatabaseName
  /** What the policy of the second branch says. */
  readonly second?: Policy | 'skip'
  /** The first branch runs out of time instead of throwing. */
  readonly hangs?: boolean
  /** A step beside the join fails before, and pauses the workflow in the end. */
  readonly beside?: boolean
  /** From this attempt on the first branch succeeds. */
  readonly until?: number
}

class PolicyError extends Error {
  readonly policy: Policy | 'skip'
  constructor(policy: Policy | 'skip') {
    super(`it says ${policy}`)
    this.policy = policy
  }
}

const calls: Readonly<Record<DatabaseName, string[]>> = { sqlite: [], postgres: [], mysql: [] }
const never = new Promise<void>(() => {})

/** Two that run for a prize: the first fails after a minute, the second after two. */
function race(first: Policy) {
  return class Race extends Workflow<null, Place> {
    static {
      this.named(`race ${first}`)
      this.step('enter', { compensate: 'leave' })
      this.fork(
        'run',
        {
          a: b => b.step('first', { wait: '1 min', timeout: '50ms', onException: first }),
          b: b => b.step('second', { wait: '2 min', onException: error => (error as PolicyError).policy }),
        },
        { join: 'any' },
      )
      this.step('prize')
      this.task('beside', { dependsOn: 'enter' })
    }
    async enter() {}
    async leave(_: Compensation) {
      calls[this.input.on].push('leave')
    }
    async beside() {
      if (this.input.beside) throw new Error('beside')
    }
    async first() {
      const { on, hangs, until = 99 } = this.input
      calls[on].push(`first ${this.execution.attempt}`)
      if (this.execution.attempt >= until) return
      if (hangs) await never
      throw new Error('slow')
    }
    async second() {
      throw new PolicyError(this.input.second ?? 'skip')
    }
    async prize() {
      calls[this.input.on].push('prize')
    }
  }
}

const races = { pause: race('pause'), cancel: race('cancel'), rollback: race('rollback'), dlq: race('dlq') }

const ends = [
  ['pause', 'paused', []],
  ['cancel', 'canceled', ['leave']],
  ['rollback', 'failed', ['leave']],
  ['dlq', 'dlq', []],
] as const

forEachDatabaseSideBySide('a policy that waits for a join', database => {
  const under = useGeneva(database, { workflows: Object.values(races) })
  const said = calls[database.name]
  const on = database.name

  beforeEach(() => {
    said.length = 0
  })

  /** Both branches have ended. */
  async function run(first: Policy, input: Omit<Place, 'on'> = {}): Promise<WorkflowHandle<any>> {
    await under.setClock(0)
    const wf = await under.geneva.start(races[first], { input: { on, ...input } })
    for (const minutes of [0, 1.5, 3]) {
      await under.setClock(minutes * 60_000)
      await under.runDue()
    }
    return wf.refresh()
  }

  it.each(ends)('acts when a skip has lost it the join: %s', async (policy, state, undone) => {
    const wf = await run(policy)
    expect(wf.state).toBe(state)
    expect(said).toEqual(['first 1', ...undone])
    expect((await wf.history()).find(({ step }) => step === 'first')?.reason).toContain(policy)
    await wf.abort().catch(() => {})
  })

  it.each(ends)('acts also if its step has run out of time: %s', async (policy, state, undone) => {
    const wf = await run(policy, { hangs: true })
    expect(wf.state).toBe(state)
    expect(said).toEqual(['first 1', ...undone])
    const first = (await wf.history()).find(({ step }) => step === 'first')
    expect(first?.outcome).toBe('timed_out')
    await wf.abort().catch(() => {})
  })

  it.each(ends)('acts also if something beside the join has failed before: %s', async (policy, state, undone) => {
    const wf = await run(policy, { beside: true })
    expect(wf.state).toBe(state)
    expect(said).toEqual(['first 1', ...undone])
    await wf.abort().catch(() => {})
  })

  it.each([true, false])('and says dlq opens its letter then, with its error (out of time: %s)', async hangs => {
    const wf = await run('dlq', { until: 2, hangs })
    const [letter, ...more] = await under.geneva.deadLetters({ workflowId: wf.id })
    expect(more).toEqual([])
    const message = hangs ? expect.stringContaining('50 ms') : 'slow'
    expect(letter).toMatchObject({ step: 'first', attempt: 1, reason: 'policy', error: { message } })
    expect((await wf.explain()).sentence).toContain(`letter ${letter?.id}`)
    await under.geneva.requeue(letter?.id ?? '', { by: 'ann' })
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(said).toEqual(['first 1', 'first 2', 'prize'])
    expect(await wf.verifyHistory()).toBeNull()
  })

  it('gives way to that of the branch that failed last, for good', async () => {
    const wf = await run('rollback', { second: 'pause', beside: true })
    expect(wf.state).toBe('paused')
    // What a person does about the others does not bring it back.
    await wf.skip('beside')
    await under.runDue()
    expect((await wf.refresh()).state).toBe('paused')
    await wf.skip('second')
    await under.runDue()
    expect((await wf.refresh()).state).toBe('paused')
    expect(said).toEqual(['first 1'])
    await wf.resolve('first')
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(said).toEqual(['first 1', 'prize'])
  })

  it('leaves everything as its events say', async () => {
    expect((await under.geneva.doctor()).findings).toEqual([])
  })
})
