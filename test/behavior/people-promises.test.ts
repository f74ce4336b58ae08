/** What the guide to people and signals promises: who may answer from where, and what no, late and early mean. */
import { beforeEach, expect, it } from 'vitest'
import { z } from 'zod'
import { type Compensation, type Decision, type Signal, Workflow, type WorkflowHandle } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

const calls: string[] = []
const keys: string[] = []
const day = 86_400_000

class Purchase extends Workflow<null, { cents: number; broken?: boolean }> {
  static {
    this.named('purchase')
    this.step('reserve', { compensate: 'release' })
    this.human('approve', {
      if: wf => wf.input.cents > 1000,
      form: z.object({ limit: z.number() }),
      onReject: 'rollback',
      deadline: '3 days',
    })
    this.step('order', { onException: 'rollback' })
  }
  async reserve() {}
  async release({ reason }: Compensation) {
    calls.push(`release: ${reason.message}, asked by ${reason.by}`)
  }
  async approve(decision: Decision<{ limit: number }>) {
    calls.push(`approved to ${decision.data.limit}`)
    return decision.data.limit
  }
  async order() {
    if (this.input.broken) throw new Error('order broke')
    calls.push('order')
  }
}

class Draft extends Workflow {
  static {
    this.named('draft')
    this.onException('rollback')
    this.step('write', { compensate: 'shred' })
    this.human('accept', { onReject: { backTo: 'write' } })
    this.step('print')
  }
  async write() {}
  async shred(undo: Compensation) {
    calls.push('shred')
    keys.push(undo.idempotencyKey)
  }
  async accept(_: Decision) {}
  async print() {
    throw new Error('no paper')
  }
}

class Letter extends Workflow {
  static {
    this.named('letter')
    this.waitFor('answered', { timeout: '2 days' })
    this.step('file')
  }
  async answered({ payload }: Signal<string>) {
    calls.push(`answered ${payload}`)
    return payload
  }
  async file() {
    calls.push('file')
  }
}

/** Its methods throw the first time. */
class Shaky extends Workflow {
  static {
    this.named('shaky')
    this.human('agree', { retry: { attempts: 2, backoff: 'fixed', delay: 0 } })
    this.waitFor('paid', { retry: { attempts: 2, backoff: 'fixed', delay: 0 } })
  }
  async agree({ by }: Decision) {
    calls.push(`agree ${by}`)
    if (this.execution.attempt === 1) throw new Error('try again')
  }
  async paid({ payload }: Signal<number>) {
    calls.push(`paid ${payload}`)
    if (this.execution.attempt === 1) throw new Error('try again')
  }
}

forEachDatabase('a step that waits', database => {
  const under = useGeneva(database, { workflows: [Purchase, Draft, Letter, Shaky] })

  /** What follows from a timer may be left to the next call. */
  const runUntil = async (wf: WorkflowHandle, state: string) => {
    for (let round = 0; round < 20 && (await wf.refresh()).state !== state; round++) await under.runDue()
    expect(wf.state).toBe(state)
  }

  beforeEach(async () => {
    calls.length = 0
    keys.length = 0
    await under.setClock(0)
  })

  it('for people asks nobody where its condition says so', async () => {
    const wf = await under.geneva.start(Purchase, { input: { cents: 5 } })
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(calls).toEqual(['order'])
    expect((await wf.history())[1]).toMatchObject({ step: 'approve', outcome: 'skipped_by_condition' })
  })

  it('can be decided, and sent a signal, by a process that does not have the code', async () => {
    const purchase = await under.geneva.start(Purchase, { input: { cents: 5000 } })
    const letter = await under.geneva.start(Letter)
    await under.runDue()
    const office = under.another({ workflows: [] })
    const [waiting] = (await (await office.find(purchase.id))?.currentExecutions()) ?? []
    await office.decide(waiting?.id ?? '', { decision: 'confirmed', by: 'ann', data: { limit: 7 } })
    await office.signal(letter.id, 'answered', 'yes', { by: 'bob' })
    await under.runDue()
    expect(calls.toSorted()).toEqual(['answered yes', 'approved to 7', 'file', 'order'])
  })

  it('for people fails in its method when what was filled in elsewhere does not fit its form', async () => {
    const wf = await under.geneva.start(Purchase, { input: { cents: 5000 } })
    await under.runDue()
    const office = under.another({ workflows: [] })
    const [waiting] = (await (await office.find(wf.id))?.currentExecutions()) ?? []
    await office.decide(waiting?.id ?? '', { decision: 'confirmed', by: 'ann', data: { limit: 'much' } })
    await under.runDue()
    expect((await wf.refresh()).state).toBe('paused')
    expect((await wf.history()).at(-1)?.error?.className).toBe('InputValidationError')
  })

  it('for people rolls back when somebody says no, who need not fill in the form', async () => {
    const wf = await under.geneva.start(Purchase, { input: { cents: 5000 } })
    await under.runDue()
    await wf.decide('approve', { decision: 'rejected', by: 'ann', comment: 'too dear' })
    await under.runDue()
    expect((await wf.refresh()).state).toBe('failed')
    expect(calls).toEqual(['release: too dear, asked by ann'])
    expect((await wf.events()).at(-1)).toMatchObject({ type: 'workflow.failed', by: 'ann', reason: 'too dear' })
  })

  it('for people is rolled back like any step when something fails later', async () => {
    const wf = await under.geneva.start(Purchase, { input: { cents: 5000, broken: true } })
    await under.runDue()
    await wf.decide('approve', { decision: 'confirmed', by: 'ann', data: { limit: 1 } })
    await under.runDue()
    expect((await wf.refresh()).state).toBe('failed')
    expect((await wf.history())[1]).toMatchObject({ step: 'approve', state: 'rolled_back', outcome: 'confirmed' })
  })

  it('for people pauses its workflow when its deadline has passed, and asks again when it is resumed', async () => {
    const wf = await under.geneva.start(Purchase, { input: { cents: 5000 } })
    await under.runDue()
    await under.setClock(3.1 * day)
    await runUntil(wf, 'paused')
    expect((await wf.history()).at(-1)).toMatchObject({
      outcome: 'timed_out',
      error: { className: 'NothingCameError' },
    })
    await wf.resume({ by: 'ann' })
    await under.runDue()
    expect((await wf.currentExecutions()).map(({ step, state }) => `${step} ${state}`)).toEqual(['approve waiting'])
    await wf.decide('approve', { decision: 'confirmed', by: 'ann', data: { limit: 2 } })
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
  })

  it('can be skipped or taken as done by hand', async () => {
    const skipped = await under.geneva.start(Purchase, { input: { cents: 5000 } })
    const resolved = await under.geneva.start(Purchase, { input: { cents: 5000 } })
    await under.runDue()
    await skipped.skip('approve', { by: 'ann' })
    await resolved.resolve('approve', { by: 'ann', output: 9 })
    await under.runDue()
    expect((await skipped.refresh()).state).toBe('finished')
    expect((await resolved.refresh()).state).toBe('finished')
    expect(await resolved.output('approve')).toBe(9)
  })

  it('has its method attempted again with what has come, and asks nobody twice', async () => {
    const wf = await under.geneva.start(Shaky)
    await under.runDue()
    await wf.decide('agree', { decision: 'confirmed', by: 'ann' })
    await under.runDue()
    await wf.signal('paid', 7)
    await under.runDue()
    expect(calls).toEqual(['agree ann', 'agree ann', 'paid 7', 'paid 7'])
    expect((await wf.refresh()).state).toBe('finished')
  })

  it('undoes every round when its workflow was sent back and fails later', async () => {
    const wf = await under.geneva.start(Draft)
    await under.runDue()
    await wf.decide('accept', { decision: 'rejected', by: 'ann' })
    await under.runDue()
    await wf.decide('accept', { decision: 'confirmed', by: 'ann' })
    await under.runDue()
    expect((await wf.refresh()).state).toBe('failed')
    expect(calls).toEqual(['shred', 'shred'])
  })

  it('for a signal takes the first that came, and refuses one that comes when it has ended', async () => {
    const wf = await under.geneva.start(Letter)
    await wf.signal('answered', 'first')
    await wf.signal('answered', 'second')
    await under.runDue()
    expect(calls).toEqual(['answered first', 'file'])
    const other = await under.geneva.start(Letter)
    await under.runDue()
    await other.abort()
    await expect(other.signal('answered', 'late')).rejects.toMatchObject({ code: 'INVALID_STATE' })
  })

  it('for a signal that never comes fails, and its policy acts, where no `onTimeout` is given', async () => {
    const wf = await under.geneva.start(Letter)
    await under.runDue()
    await under.setClock(2.1 * day)
    await runUntil(wf, 'paused')
    expect((await wf.history()).at(-1)).toMatchObject({
      outcome: 'timed_out',
      error: { className: 'NothingCameError' },
    })
  })
})
