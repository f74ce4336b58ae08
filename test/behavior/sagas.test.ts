/** Sagas: what was done is undone in reverse, whatever goes wrong on the way. */
import { beforeEach, expect, it } from 'vitest'
import { type Compensation, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

const calls: string[] = []
let failing = new Set<string>()

function run(name: string): void {
  calls.push(name)
  if (failing.has(name)) throw new Error(`${name} broke`)
}

/** The basic saga: funds are reserved, the order is shipped, the user is told. */
class OrderSaga extends Workflow<null, { amount?: number }> {
  static {
    this.named('order-saga')
    this.onException('rollback')
    this.step('reserveFunds', { compensate: 'refundFunds' })
    this.step('shipOrder', { compensate: 'cancelShipping' })
    this.step('notifyUser')
  }
  async reserveFunds() {
    run('reserveFunds')
    return { reservation: 7 }
  }
  async refundFunds(undo: Compensation<OrderSaga['reserveFunds']>) {
    seen.push(undo)
    run('refundFunds')
  }
  async shipOrder() {
    run('shipOrder')
    return { parcel: 'p1' }
  }
  async cancelShipping(undo: Compensation<OrderSaga['shipOrder']>) {
    seen.push(undo)
    run('cancelShipping')
  }
  async notifyUser() {
    run('notifyUser')
  }
}

const seen: Compensation<unknown>[] = []

class SavedSaga extends Workflow {
  static {
    this.named('saved-saga')
    this.onException('rollback')
    this.step('first', { compensate: 'undoFirst' })
    this.savePoint('saved')
    this.step('second', { compensate: { step: 'undoSecond', retry: { attempts: 2, backoff: 'fixed', delay: 0 } } })
    this.step('third')
  }
  async first() {
    run('first')
  }
  async undoFirst(_: Compensation) {
    run('undoFirst')
  }
  async second() {
    run('second')
  }
  async undoSecond(_: Compensation) {
    run('undoSecond')
  }
  async third() {
    run('third')
  }
}

class LetterSaga extends Workflow {
  static {
    this.named('letter-saga')
    this.step('first', { compensate: 'undoFirst' })
    this.step('middle', { onException: 'dlq' })
  }
  async first() {
    run('first')
  }
  async undoFirst(_: Compensation) {
    run('undoFirst')
  }
  async middle() {
    run('middle')
  }
}

forEachDatabase('a saga', database => {
  const under = useGeneva(database, { workflows: [OrderSaga, SavedSaga, LetterSaga] })
  const statesOf = async (id: string) => {
    const nodes = await (await under.geneva.find(id))?.nodesWithState()
    return Object.fromEntries((nodes ?? []).map(node => [node.name, node.state]))
  }

  beforeEach(() => {
    calls.length = 0
    seen.length = 0
    failing = new Set()
  })

  it('that fails is undone in reverse order, the failed step first, and ends as failed', async () => {
    failing.add('notifyUser')
    const wf = await under.geneva.start(OrderSaga, { input: { amount: 5 } })
    await under.runDue()
    expect((await wf.refresh()).state).toBe('failed')
    expect(calls).toEqual(['reserveFunds', 'shipOrder', 'notifyUser', 'cancelShipping', 'refundFunds'])
    expect(await statesOf(wf.id)).toEqual({
      reserveFunds: 'rolled_back',
      shipOrder: 'rolled_back',
      notifyUser: 'rolled_back',
    })
    expect((await wf.compensations()).map(each => [each.step, each.state, each.outcome])).toEqual([
      ['shipOrder', 'completed', 'compensated'],
      ['reserveFunds', 'completed', 'compensated'],
    ])
    await expect(wf.waitUntilFinished({ timeout: 1000 })).rejects.toThrow('failed')
    expect(await wf.verifyHistory()).toBeNull()
  })

  it('gives a compensation the output, the input, the reason and a key of its own', async () => {
    failing.add('notifyUser')
    await under.geneva.start(OrderSaga, { input: { amount: 5 } })
    await under.runDue()
    expect(seen).toMatchObject([
      { output: { parcel: 'p1' }, input: { amount: 5 }, reason: { kind: 'failure', message: 'notifyUser broke' } },
      { output: { reservation: 7 }, attempt: 1, node: 'reserveFunds' },
    ])
    expect(new Set(seen.map(undo => undo.idempotencyKey)).size).toBe(2)
  })

  it('also undoes the step that failed, which may have happened', async () => {
    failing.add('shipOrder')
    const wf = await under.geneva.start(OrderSaga)
    await under.runDue()
    expect(calls).toEqual(['reserveFunds', 'shipOrder', 'cancelShipping', 'refundFunds'])
    expect(seen[0]?.output).toBeUndefined()
    expect((await wf.refresh()).state).toBe('failed')
  })

  it('goes back to its save point after a failure, and to the start after a cancel', async () => {
    failing.add('third')
    const failed = await under.geneva.start(SavedSaga)
    await under.runDue()
    expect(await statesOf(failed.id)).toMatchObject({ first: 'completed', saved: 'completed', second: 'rolled_back' })
    expect((await failed.refresh()).state).toBe('failed')
    expect(calls).toEqual(['first', 'second', 'third', 'undoSecond'])
    calls.length = 0
    failing = new Set()
    const canceled = await under.geneva.start(SavedSaga)
    await under.runDue({ maxSteps: 2 })
    expect(await canceled.previewRollback()).toMatchObject([
      { step: 'second', compensation: 'undoSecond' },
      { step: 'saved', compensation: null },
      { step: 'first', compensation: 'undoFirst' },
    ])
    await canceled.cancel({ by: 'ann', reason: 'changed her mind' })
    expect(canceled.state).toBe('rolling_back')
    await under.runDue()
    expect((await canceled.refresh()).state).toBe('canceled')
    expect(calls).toEqual(['first', 'second', 'undoSecond', 'undoFirst'])
  })

  it('whose compensation is given up has a dead letter, goes on, ends as failed, and can be requeued', async () => {
    failing = new Set(['third', 'undoSecond'])
    const wf = await under.geneva.start(SavedSaga)
    await under.runDue()
    expect((await wf.refresh()).state).toBe('failed')
    expect(calls.filter(name => name === 'undoSecond')).toHaveLength(2)
    const [letter] = await under.geneva.deadLetters({ workflowId: wf.id })
    expect(letter).toMatchObject({ step: 'second', reason: 'compensation_exhausted', state: 'open' })
    expect(await statesOf(wf.id)).toMatchObject({ second: 'failed' })
    failing = new Set()
    await under.geneva.requeue(letter?.id ?? '', { by: 'ann' })
    expect(await statesOf(wf.id)).toMatchObject({ second: 'compensating' })
    await under.runDue()
    expect(await statesOf(wf.id)).toMatchObject({ second: 'rolled_back' })
    expect((await wf.refresh()).state).toBe('failed')
    expect(await under.geneva.deadLetters({ workflowId: wf.id, state: 'open' })).toEqual([])
  })

  it('that is aborted ends at once, and undoes nothing', async () => {
    const wf = await under.geneva.start(SavedSaga)
    await under.runDue({ maxSteps: 2 })
    await wf.abort({ by: 'ann', reason: 'security' })
    expect(wf.state).toBe('aborted')
    await under.runDue()
    expect(calls).toEqual(['first', 'second'])
    const events = await wf.events()
    expect(events.at(-1)).toMatchObject({ type: 'workflow.aborted', by: 'ann', reason: 'security' })
    await expect(wf.abort()).rejects.toMatchObject({ code: 'INVALID_STATE' })
    await expect(wf.cancel()).rejects.toMatchObject({ code: 'INVALID_STATE' })
  })

  it.each([
    ['rollback', 'failed', ['undoFirst']],
    ['abort', 'aborted', []],
    ['cancel', 'canceled', ['undoFirst']],
  ] as const)('whose dead letter is given up with %s ends as %s', async (then, state, undone) => {
    failing = new Set(['middle'])
    const wf = await under.geneva.start(LetterSaga)
    await under.runDue()
    const [letter] = await under.geneva.deadLetters({ workflowId: wf.id })
    await under.geneva.discard(letter?.id ?? '', { then, by: 'ann', reason: 'given up' })
    await under.runDue()
    expect((await wf.refresh()).state).toBe(state)
    expect(calls).toEqual(['first', 'middle', ...undone])
    expect(await under.geneva.doctor({ workflow: wf.id })).toMatchObject({ findings: [] })
  })
})
