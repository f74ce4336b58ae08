/** Lists of executions walk along a key and stop: they read no more rows than a look may, whatever the tables hold. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type ExecutionListOptions, listExecutions } from '../../src/client/views/execution-list.ts'
import type { ExecutionFilter } from '../../src/store/execution-filter.ts'
import type { ExecutionState } from '../../src/store/records.ts'
import type { Database } from '../../src/store/sql/dialect.ts'
import { raw } from '../../src/store/sql/sql.ts'
import type { SqlStore } from '../../src/store/sql/sql-store.ts'
import { forEachDatabase } from '../support/databases.ts'
import { openRecorded } from '../support/open-recorded.ts'
import { finishedChange, makeOrder } from '../support/open-store.ts'
import { planners } from '../support/planners.ts'
import { explain, type Recording } from '../support/recording-database.ts'

const size = 6000
const bounds = { limit: 11, window: 300 }

forEachDatabase('lists of executions', database => {
  const planner = planners[database.name]
  let real: Database
  let recording: Recording
  let store: SqlStore
  const ids: string[] = []

  beforeAll(async () => {
    ;({ real, recording, store } = await openRecorded(database))
    const orders = []
    for (let i = 0; i < size; i++) {
      const type = i % 2 ? 'Odd' : 'Even'
      orders.push(await makeOrder(store, { type, first: { handler: type, due: { inMs: i % 3 ? 0 : 86_400_000 } } }))
    }
    for (let i = 0; i < size; i += 500) await store.start(orders.slice(i, i + 500))
    ids.push(...orders.map(({ id }) => id))
    const half = orders.filter((_, index) => index % 4 === 0).map(({ id }) => ({ workflowId: id }))
    for (let i = 0; i < half.length; i += 500) await store.change(half.slice(i, i + 500), finishedChange)
    await store.registerWorker({ id: 'w1', host: 'h', pid: 1, leaseMs: 600_000, handlers: ['Odd'] })
    await store.claim({ workerId: 'w1', sources: [{ queue: 'default', handler: 'Odd', generation: 1 }], limit: 20 })
    for (const statement of planner.analyze) await real.query(raw(statement))
  })
  afterAll(() => store.close())

  const middle = () => ids[size / 2] ?? ''
  const active = (states: readonly ExecutionState[], more: Partial<ExecutionFilter> = {}): ExecutionFilter => {
    return { source: 'active', states, ...more }
  }

  it.each<[string, () => ExecutionFilter]>([
    ['that have not ended', () => active(['scheduled', 'in_progress', 'suspended', 'waiting', 'paused'])],
    ['in a state that none is in', () => active(['suspended'])],
    ['of a class', () => active(['scheduled'], { types: ['Odd'] })],
    ['of a class that there is not', () => active(['scheduled'], { types: ['Neither'] })],
    ['at a step, in a queue, due', () => active(['scheduled'], { node: 'one', queue: 'default', due: true })],
    ['behind a place', () => active(['scheduled'], { before: { workflowId: middle(), slot: '' } })],
    ['that run', () => active(['in_progress'])],
    ['that are being undone', () => ({ source: 'undone', states: ['compensating'] })],
    ['that have completed', () => ({ source: 'ended', states: ['completed'] })],
    ['that have failed, of which there are none', () => ({ source: 'ended', states: ['failed'] })],
    ['that have ended behind an id', () => ({ source: 'ended', states: ['completed'], before: { id: middle() } })],
    ['of a class that have ended', () => ({ source: 'ended', states: ['completed'], types: ['Even'], node: 'one' })],
  ])('%s are looked for along a key', async (_, filter) => {
    recording.take()
    const { found, next } = await store.views.executions(filter(), bounds)
    expect(found.length).toBeLessThanOrEqual(bounds.limit)
    const statements = recording.take()
    expect(statements).toHaveLength(2)
    const [keys = [], rows = []] = await Promise.all(
      statements.map(statement => explain(real, statement, planner.explain)),
    )
    // The first goes so many keys along, in their order, which some databases call a scan of the index.
    if (!filter().states.includes('in_progress') || filter().states.length > 1) {
      expect(keys.filter(line => planner.sorts.test(line) || /Seq Scan|type=ALL/.test(line))).toEqual([])
    }
    // The second looks at what lies between two keys, and up what belongs to it. Where nothing is left behind, there is no second key.
    if (next === null) return
    expect(rows.filter(line => planner.scan.test(line))).toEqual([])
    // A walk along a whole index, which PostgreSQL does not call a scan of the table. What has an owner is few.
    const walks = rows.filter((line, at) => / using (?!\w+_owner)/.test(line) && !/Index Cond/.test(rows[at + 1] ?? ''))
    expect(walks).toEqual([])
  })

  it('look through no more than they may, and go on where they stopped', async () => {
    const first = await store.views.executions(active(['suspended']), bounds)
    expect(first).toMatchObject({ found: [], next: { workflowId: expect.any(String), slot: '' } })
    let looks = 1
    for (let next = first.next; next !== null; looks++) {
      next = (await store.views.executions(active(['suspended'], { before: next }), bounds)).next
    }
    expect(looks).toBe(Math.floor((size * 3) / 4 / bounds.window) + 1)
  })

  it('have every execution once, over all pages', async () => {
    const all = async (options: ExecutionListOptions) => {
      const seen: string[] = []
      let cursor: string | null = null
      do {
        const place: { cursor?: string } = cursor === null ? {} : { cursor }
        const page = await listExecutions(store, { ...options, ...place, limit: 400 })
        seen.push(...page.items.map(({ workflowId }) => workflowId))
        cursor = page.nextCursor
      } while (cursor !== null)
      return seen
    }
    const newest = (wanted: (index: number) => boolean) => ids.filter((_, index) => wanted(index)).toReversed()
    expect(await all({ state: ['scheduled', 'in_progress'] })).toEqual(newest(index => index % 4 !== 0))
    expect(await all({ type: 'Odd' })).toEqual(newest(index => index % 2 === 1))
    expect((await all({ state: 'completed' })).toSorted()).toEqual(newest(index => index % 4 === 0).toSorted())
    expect(await all({ state: 'in_progress' })).toHaveLength(20)
    expect(await all({ state: 'failed' })).toEqual([])
  })
})
