/** Lists of workflows by age: complete, whatever the page, and found by the key without reading what is too new or too old. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { ViewOptions } from '../../src/client/views/view-options.ts'
import { countWorkflows, listSummaries } from '../../src/client/views/workflow-summary.ts'
import type { Database } from '../../src/store/sql/dialect.ts'
import { raw } from '../../src/store/sql/sql.ts'
import type { SqlStore } from '../../src/store/sql/sql-store.ts'
import { forEachDatabase } from '../support/databases.ts'
import { openRecorded } from '../support/open-recorded.ts'
import { makeOrder } from '../support/open-store.ts'
import { planners } from '../support/planners.ts'
import { explain, type Recording } from '../support/recording-database.ts'

const dayMs = 86_400_000
/** So many a day: enough for a search among the ids. */
const daily = 2000
const days = [4, 3, 2, 1, 0]

forEachDatabase('lists by age', database => {
  const planner = planners[database.name]
  let real: Database
  let recording: Recording
  let store: SqlStore
  /** Every id with the day on which it was started. */
  const started = new Map<string, number>()

  beforeAll(async () => {
    ;({ real, recording, store } = await openRecorded(database))
    for (const day of days) {
      store.setClockOffset(-day * dayMs)
      const orders = []
      for (let i = 0; i < daily; i++) orders.push(await makeOrder(store, { type: i % 2 ? 'Odd' : 'Even' }))
      for (const { id } of orders) started.set(id, day)
      for (let i = 0; i < daily; i += 500) await store.start(orders.slice(i, i + 500))
    }
    store.setClockOffset(0)
    for (const statement of planner.analyze) await real.query(raw(statement))
  })
  afterAll(() => store.close())

  const ago = (days: number) => new Date(Date.now() - days * dayMs)
  const idsOf = (from: number, to: number) => {
    const own = [...started].filter(([, day]) => day >= from && day <= to).map(([id]) => id)
    return own.toSorted((a, b) => Number(b) - Number(a))
  }

  async function allPages(options: ViewOptions, limit = 500): Promise<string[]> {
    const ids: string[] = []
    let cursor: string | null = null
    do {
      const place: { cursor?: string } = cursor === null ? {} : { cursor }
      const page = await listSummaries(store, { ...options, ...place, limit })
      ids.push(...page.items.map(({ id }) => id))
      cursor = page.nextCursor
    } while (cursor !== null)
    return ids
  }

  it('have every workflow of the stretch once, newest first, over all pages', async () => {
    expect(await allPages({ createdBefore: ago(2.5) })).toEqual(idsOf(3, 4))
    expect(await allPages({ createdAfter: ago(1.5) })).toEqual(idsOf(0, 1))
    expect(await allPages({ createdAfter: ago(3.5), createdBefore: ago(1.5) })).toEqual(idsOf(2, 3))
    expect(await allPages({ createdBefore: ago(5) })).toEqual([])
    expect(await allPages({ createdAfter: new Date(Date.now() + dayMs) })).toEqual([])
    const odd = await allPages({ createdBefore: ago(3.5), type: 'Odd', state: 'ready' }, 300)
    expect(odd).toHaveLength(daily / 2)
    expect(await countWorkflows(store, { createdBefore: ago(3.5), type: 'Odd' })).toEqual({
      count: daily / 2,
      capped: false,
    })
  })

  it('begin where the stretch begins: a first page is full at once, and an empty one is the last', async () => {
    recording.take()
    const page = await listSummaries(store, { createdBefore: ago(3.5), limit: 50 })
    expect(page.items).toHaveLength(50)
    expect(page.nextCursor).not.toBeNull()
    const statements = recording.take()
    // The ends, a search among twenty thousand ids, one stretch, and what is said about each.
    expect(statements.length).toBeLessThan(14)
    expect(await listSummaries(store, { createdBefore: ago(5) })).toMatchObject({ items: [], nextCursor: null })
    // Nothing has been attempted yet, and reading an empty table costs nothing.
    const lookers = statements.filter(({ parts }) => !parts.join('').includes('error_class'))
    const plans = await Promise.all(lookers.map(statement => explain(real, statement, planner.explain)))
    expect(plans.flat().filter(line => planner.scan.test(line))).toEqual([])
  })
})
