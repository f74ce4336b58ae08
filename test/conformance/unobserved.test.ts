/** Who does not trace and does not listen pays nothing: no statement and no column more than there must be. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Database } from '../../src/store/sql/dialect.ts'
import type { SqlStore } from '../../src/store/sql/sql-store.ts'
import { forEachDatabase } from '../support/databases.ts'
import { openRecorded } from '../support/open-recorded.ts'
import { finishedChange, makeOrder } from '../support/open-store.ts'
import type { Recording } from '../support/recording-database.ts'

forEachDatabase('without telemetry', database => {
  let real: Database
  let recording: Recording
  let store: SqlStore

  beforeAll(async () => {
    ;({ real, recording, store } = await openRecorded(database))
  })
  afterAll(() => real.close())

  async function textsOf(call: () => Promise<unknown>): Promise<string[]> {
    recording.take()
    await call()
    return recording.take().map(statement => statement.parts.join('?'))
  }

  it('a start writes no trace, and a traced one sends no statement more', async () => {
    const [plain, traced] = [
      await makeOrder(store),
      await makeOrder(store, { trace: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` }),
    ]
    const without = await textsOf(() => store.start([plain]))
    expect(without.join()).not.toContain('trace')
    const withTrace = await textsOf(() => store.start([traced]))
    expect(withTrace.join()).toContain('trace_parent')
    expect(withTrace).toHaveLength(without.length)
  })

  it('a trace comes back with the claim, and nothing where there is none', async () => {
    const trace = `00-${'c'.repeat(32)}-${'d'.repeat(16)}-00`
    const orders = [await makeOrder(store, { type: 'Claimed', trace }), await makeOrder(store, { type: 'Claimed' })]
    await store.start(orders)
    await store.registerWorker({ id: 'w', host: 'here', pid: 1, leaseMs: 60_000, handlers: ['Sample'] })
    const claimed = await store.claim({
      workerId: 'w',
      sources: [{ queue: 'default', handler: 'Sample', generation: 1 }],
      limit: 10,
    })
    const traces = new Map(claimed.map(item => [item.workflow.id, item.trace]))
    expect(orders.map(({ id }) => traces.get(id))).toEqual([trace, null])
    const held = new Map((await store.heldBy('w')).map(item => [item.workflow.id, item.trace]))
    expect(orders.map(({ id }) => held.get(id))).toEqual([trace, null])
  })

  it('whoever listens costs a change no statement', async () => {
    const orders = [await makeOrder(store), await makeOrder(store)] as const
    await store.start(orders)
    const finish = (index: 0 | 1) => store.change([{ workflowId: orders[index].id }], facts => finishedChange(facts))
    const alone = await textsOf(() => finish(0))
    store.observe(() => {})
    const heard = await textsOf(() => finish(1))
    store.observe(null)
    expect(heard).toEqual(alone)
  })
})
