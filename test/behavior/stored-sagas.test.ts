/** Sagas without a class: what jobs have done is undone by jobs, in reverse, with what they were called with. */
import { beforeEach, expect, it } from 'vitest'
import { defineJob, type GraphBuilder, type Undoing, type WorkflowHandle } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'
import { waitFor } from '../support/wait-for.ts'

interface Args {
  readonly order?: number
  readonly parcel?: { readonly id: string }
}

const calls: string[] = []
let failing = new Map<string, number>()
const undone: (Undoing & { readonly args: Args; readonly key: string })[] = []

function run(name: string): void {
  calls.push(name)
  const left = failing.get(name) ?? 0
  failing.set(name, left - 1)
  if (left > 0) throw new Error(`${name} broke`)
}
const fail = (name: string, times = Number.POSITIVE_INFINITY) => failing.set(name, times)

const work = defineJob('work', { onException: 'rollback' }, async (_: Args, job) => {
  run(job.node.name)
  return { id: `${job.node.name} of ${job.workflowId}` }
})
const undo = defineJob('undo', async (args: Args, job) => {
  if (job.undo !== null) undone.push({ ...job.undo, args, key: job.idempotencyKey })
  run(`undo ${job.node.name}`)
})
const goneUndo = defineJob('goneUndo', async (_: Args) => {})

/** The basic saga: funds are reserved, the order is shipped, the user is told. */
function orderSaga(w: GraphBuilder): void {
  const reserved = w.node('reserve_funds', { job: work, args: { order: 7 }, compensate: undo })
  w.node('ship_order', { job: work, args: { parcel: reserved.output }, compensate: undo })
  w.node('notify_user', { job: work })
}

/** Conditions before, inside and behind a fork; only what was taken is undone. */
function smartOrderSaga(w: GraphBuilder): void {
  w.node('validate_order', { job: work })
  w.condition('check_inventory', '{{ gt .inventory_count 0 }}', {
    else: b => b.node('restock_item', { job: work, compensate: undo }),
  })
  w.node('process_payment', { job: work, compensate: undo })
  w.fork('fulfillment', {
    shipping: b => b.node('ship_item', { job: work, compensate: undo }),
    delivery: b =>
      b.condition('check_digital', '{{ eq .product_type "digital" }}', {
        then: c => c.node('deliver_digital', { job: work, compensate: undo }),
        else: c => c.node('prepare_physical', { job: work, compensate: undo }),
      }),
  })
  w.node('notify_completion', { job: work })
}

forEachDatabase('a saga without a class', database => {
  const under = useGeneva(database, { jobs: [work, undo] })
  const start = async (describe: (w: GraphBuilder) => void, input: unknown = {}) => {
    const wf = await under.geneva.startGraph(under.geneva.build(describe), { input })
    await under.runDue()
    return wf.refresh()
  }
  const statesOf = async (wf: WorkflowHandle<any>) =>
    Object.fromEntries((await wf.nodesWithState()).map(node => [node.name, node.state]))

  beforeEach(() => {
    calls.length = 0
    undone.length = 0
    failing = new Map()
  })

  it('that fails is undone in reverse order, the failed node first, and ends as failed', async () => {
    fail('ship_order')
    const wf = await start(orderSaga)
    expect(wf.state).toBe('failed')
    expect(calls).toEqual(['reserve_funds', 'ship_order', 'undo ship_order', 'undo reserve_funds'])
    expect(await statesOf(wf)).toMatchObject({ reserve_funds: 'rolled_back', ship_order: 'rolled_back' })
    expect((await wf.compensations()).map(({ state, outcome }) => [state, outcome])).toEqual([
      ['completed', 'compensated'],
      ['completed', 'compensated'],
    ])
    expect(await wf.verifyHistory()).toBeNull()
  })

  it('gives a compensation the arguments of its node, the output, the reason and a key of its own', async () => {
    fail('notify_user')
    const wf = await start(orderSaga, { customer: 'ann' })
    const reserved = { id: `reserve_funds of ${wf.id}` }
    const reason = { kind: 'failure', message: 'notify_user broke', by: null }
    expect(undone).toMatchObject([
      { node: 'ship_order', args: { parcel: reserved }, output: { id: `ship_order of ${wf.id}` }, reason },
      { node: 'reserve_funds', args: { order: 7 }, output: reserved, reason, input: { customer: 'ann' } },
    ])
    expect(new Set(undone.map(({ key }) => key)).size).toBe(2)
    expect(undone.map(({ key, idempotencyKey }) => key === idempotencyKey)).toEqual([true, true])
  })

  it('that is canceled is undone to its start, past save points, and ends as canceled', async () => {
    const wf = await start(w => {
      w.node('first', { job: work, compensate: undo })
      w.savePoint('saved')
      w.node('second', { job: work, compensate: undo })
      w.human('approve', { compensate: undo })
      w.waitFor('more')
    })
    await wf.decide('approve', { decision: 'confirmed', by: 'ann' })
    await under.runDue()
    await wf.cancel({ by: 'bob', reason: 'changed my mind' })
    await under.runDue()
    expect((await wf.refresh()).state).toBe('canceled')
    expect(calls).toEqual(['first', 'second', 'undo approve', 'undo second', 'undo first'])
    expect(undone[0]).toMatchObject({
      output: { by: 'ann', decision: 'confirmed' },
      reason: { kind: 'cancel', message: 'changed my mind', by: 'bob' },
    })
  })

  it('that fails stops undoing at the last save point', async () => {
    fail('third')
    const wf = await start(w => {
      w.node('first', { job: work, compensate: undo })
      w.savePoint('saved')
      w.node('second', { job: work, compensate: undo })
      w.node('third', { job: work })
    })
    expect(wf.state).toBe('failed')
    expect(calls).toEqual(['first', 'second', 'third', 'undo second'])
    expect(await statesOf(wf)).toMatchObject({ first: 'completed', saved: 'completed', second: 'rolled_back' })
  })

  it('is undone when a person says no, if it is to be', async () => {
    const wf = await start(w => {
      w.node('first', { job: work, compensate: undo })
      w.human('approve', { onReject: 'rollback' })
    })
    await wf.decide('approve', { decision: 'rejected', by: 'ann', comment: 'too dear' })
    await under.runDue()
    expect((await wf.refresh()).state).toBe('failed')
    expect(undone).toMatchObject([{ reason: { kind: 'failure', message: 'too dear', by: 'ann' } }])
  })

  it.each([
    [5, 'digital', ['deliver_digital'], []],
    [0, 'book', ['prepare_physical'], ['restock_item']],
  ] as const)('with %i in stock delivers a %s, and undoes the ways that were taken only', async (...given) => {
    const [count, type, delivered, before] = given
    const input = { inventory_count: count, product_type: type }
    const wf = await start(smartOrderSaga, input)
    expect(wf.state).toBe('finished')
    const done = ['validate_order', ...before, 'process_payment', 'ship_item', ...delivered, 'notify_completion']
    expect(calls.toSorted()).toEqual(done.toSorted())
    expect(calls.at(-1)).toBe('notify_completion')
    calls.length = 0
    fail('notify_completion')
    const failed = await start(smartOrderSaga, input)
    expect(failed.state).toBe('failed')
    const undoing = calls.filter(call => call.startsWith('undo '))
    expect(undoing.slice(0, 2).toSorted()).toEqual([`undo ${delivered[0]}`, 'undo ship_item'].toSorted())
    expect(undoing.slice(2)).toEqual(['undo process_payment', ...before.map(name => `undo ${name}`)])
    expect(await failed.verifyHistory()).toBeNull()
  })

  it('attempts a compensation three times by itself, and as often as it says', async () => {
    fail('last')
    fail('undo two', 2)
    fail('undo one', 4)
    const wf = await start(w => {
      const retry = { attempts: 5, backoff: 'fixed', delay: 0 } as const
      w.node('one', { job: work, compensate: { job: undo, retry } })
      w.node('two', { job: work, compensate: { job: undo, retry: { attempts: 3, backoff: 'fixed', delay: 0 } } })
      w.node('last', { job: work })
    })
    expect(wf.state).toBe('failed')
    expect(calls.filter(call => call === 'undo two')).toHaveLength(3)
    expect(calls.filter(call => call === 'undo one')).toHaveLength(5)
    expect(await statesOf(wf)).toMatchObject({ one: 'rolled_back', two: 'rolled_back' })
  })

  it('leaves a dead letter for what cannot be undone, goes on with the rest, and can undo it later', async () => {
    fail('last')
    fail('undo two', 1)
    const wf = await start(w => {
      w.node('one', { job: work, compensate: undo })
      w.node('two', { job: work, compensate: { job: undo, idempotent: false } })
      w.node('last', { job: work })
    })
    expect(wf.state).toBe('failed')
    expect(calls).toEqual(['one', 'two', 'last', 'undo two', 'undo one'])
    expect(await statesOf(wf)).toMatchObject({ one: 'rolled_back', two: 'failed' })
    const [letter] = (await under.geneva.deadLetters()).filter(({ workflowId }) => workflowId === wf.id)
    await under.geneva.requeue(letter?.id ?? '')
    await under.runDue()
    expect(await statesOf(wf)).toMatchObject({ two: 'rolled_back' })
    expect(calls.at(-1)).toBe('undo two')
  })

  it('does not undo a node whose job was never called, because its arguments were not there', async () => {
    const wf = await start(w => {
      const skipped = w.node('skipped', { job: work, onException: 'skip' })
      fail('skipped')
      w.node('second', { job: work, args: { parcel: skipped.output }, compensate: undo })
    })
    expect(wf.state).toBe('failed')
    expect(calls).toEqual(['skipped'])
    expect(await statesOf(wf)).toMatchObject({ second: 'rolled_back' })
  })

  it('says so when nobody has the job that undoes a node, and undoes the rest', async () => {
    const both = under.another({ jobs: [work, undo, goneUndo] })
    await both.migrate()
    fail('last')
    const graph = both.build(w => {
      w.node('one', { job: work, compensate: undo })
      w.node('two', { job: work, compensate: goneUndo })
      w.node('last', { job: work })
    })
    await expect(under.geneva.startGraph(graph)).rejects.toThrow('goneUndo')
    const wf = await both.startGraph(graph)
    const worker = await under.geneva.startWorker({ ...quickly, lease: 400, missingJob: 100 })
    await waitFor(async () => (await wf.refresh()).state === 'failed')
    await worker.stop()
    expect(await statesOf(wf)).toMatchObject({ one: 'rolled_back', two: 'failed' })
    const [letter] = (await under.geneva.deadLetters()).filter(({ workflowId }) => workflowId === wf.id)
    expect(letter).toMatchObject({ reason: 'compensation_exhausted', error: { className: 'MissingJobError' } })
    expect(letter?.error?.message).toContain('goneUndo')
    await both.requeue(letter?.id ?? '')
    await both.runDue(quickly)
    expect(await statesOf(wf)).toMatchObject({ two: 'rolled_back' })
  })

  it('shows beforehand what would be undone', async () => {
    const wf = await start(w => {
      w.node('one', { job: work, compensate: undo })
      w.waitFor('more')
    })
    expect((await under.geneva.previewRollback(wf.id)).map(({ compensation }) => compensation)).toEqual(['undo'])
    await wf.abort()
    expect(calls).toEqual(['one'])
  })
})
