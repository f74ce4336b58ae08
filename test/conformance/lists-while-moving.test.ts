/** Lists of workflows by state come to their end and leave out none, whatever runs, starts or ends while they are read. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { Database } from '../../src/store/sql/dialect.ts'
import { raw } from '../../src/store/sql/sql.ts'
import { SqlStore } from '../../src/store/sql/sql-store.ts'
import type { ViewFilter } from '../../src/store/view-store.ts'
import { forEachDatabase } from '../support/databases.ts'
import { finishedChange, sampleSource, startSome } from '../support/open-store.ts'
import { planners } from '../support/planners.ts'
import { explain, type Recording, recordingDatabase } from '../support/recording-database.ts'

const bounds = { limit: 5, window: 2 }

forEachDatabase('lists of workflows that move', database => {
  const planner = planners[database.name]
  let real: Database
  let recording: Recording
  let store: SqlStore
  /** Comes to pass right after the next read. */
  let meanwhile: (() => Promise<unknown>) | null = null

  beforeAll(async () => {
    const { url } = await database.isolated()
    real = await planner.open(url)
    recording = recordingDatabase(real)
    store = new SqlStore(interrupted(recording.database), {})
    await store.migrate()
    await store.registerWorker({ id: 'w1', host: 'h', pid: 1, leaseMs: 600_000, handlers: ['Sample'] })
  })
  beforeEach(async () => {
    meanwhile = null
    for (const table of ['active_executions', 'workflows']) await real.run(raw(`delete from geneva_drive_${table}`))
  })
  afterAll(() => store.close())

  function interrupted(inner: Database): Database {
    const then = async <T>(read: Promise<T>): Promise<T> => {
      const answer = await read
      const act = meanwhile
      meanwhile = null
      await act?.()
      return answer
    }
    return {
      ...inner,
      query: statement => then(inner.query(statement)),
      snapshot: statements => then(inner.snapshot(statements)),
    }
  }

  const claimAll = () => store.claim({ workerId: 'w1', sources: [sampleSource], limit: 1000 })
  const finish = (ids: readonly string[]) =>
    store.change(
      ids.map(workflowId => ({ workflowId })),
      finishedChange,
    )

  async function found(filter: ViewFilter): Promise<string[]> {
    const { found } = await store.views.scan(filter, bounds)
    return found.map(({ workflow }) => workflow.id)
  }

  /** Over all looks, each of which is told from where the one before it ended. */
  async function allOf(filter: ViewFilter, looks = 20): Promise<string[]> {
    const ids: string[] = []
    let before: string | null = null
    for (let look = 0; look < looks; look++) {
      const stretch: ViewFilter = before === null ? filter : { ...filter, before }
      const page = await store.views.scan(stretch, bounds)
      ids.push(...page.found.map(({ workflow }) => workflow.id))
      before = page.next
      if (before === null) return ids
    }
    throw new Error(`after ${looks} looks the list has not ended`)
  }

  it('go on below a place, however many run above it', async () => {
    const [a = '', b = ''] = await startSome(store, 3)
    await claimAll()
    expect(await found({ states: ['performing'], before: b })).toEqual([a])
    expect(await found({ states: ['performing', 'paused'], before: b })).toEqual([a])
    expect(await found({ states: ['performing'], from: b })).toHaveLength(2)
  })

  it('have every workflow that runs once, though it runs in several places, and end', async () => {
    const wide = ['x', 'y', 'z'].map(node => ({ slot: node, node }))
    const ids = await startSome(store, 7, { first: wide })
    await claimAll()
    const filter = { states: ['performing'] } as const
    expect(await allOf(filter)).toEqual(ids.toReversed())
    let [count, before]: [number, string | null] = [0, null]
    do {
      const page: { count: number; next: string | null } = await store.views.count(
        { ...filter, ...(before === null ? {} : { before }) },
        bounds,
      )
      count += page.count
      before = page.next
    } while (before !== null)
    expect(count).toBe(7)
  })

  it('leave out none when others end while a page is read', async () => {
    const old = await startSome(store, 2, { type: 'Wanted' })
    const young = await startSome(store, 2)
    const filter = { states: ['ready'], types: ['Wanted'] } as const
    meanwhile = () => finish(young)
    expect(await allOf(filter)).toEqual(old.toReversed())
    meanwhile = () => finish(old.slice(1))
    expect(await store.views.count(filter, bounds)).toMatchObject({ count: 2, next: old[0] })
  })

  it('repeat none when others start while a page is read', async () => {
    const old = await startSome(store, 4, { type: 'Wanted' })
    meanwhile = () => startSome(store, 3)
    expect(await allOf({ states: ['ready'], types: ['Wanted'] })).toEqual(old.toReversed())
  })

  it('of what runs are found by the index of owners among many that wait', async () => {
    for (let i = 0; i < 8; i++) await startSome(store, 500)
    const [claimed] = await store.claim({ workerId: 'w1', sources: [sampleSource], limit: 1 })
    for (const statement of planner.analyze) await real.query(raw(statement))
    for (const before of [undefined, '999999999']) {
      recording.take()
      const filter: ViewFilter = { states: ['performing'], ...(before === undefined ? {} : { before }) }
      const page = await store.views.scan(filter, { limit: 50, window: 4000 })
      expect(page).toMatchObject({ found: [{ workflow: { id: claimed?.workflow.id } }], next: null })
      const looks = recording.take().filter(({ parts }) => parts.join('').includes('owner is not null'))
      expect(looks.length).toBeGreaterThan(0)
      const plans = await Promise.all(looks.map(statement => explain(real, statement, planner.explain)))
      for (const plan of plans) expect(plan.join('\n')).toMatch(/active_owner/)
      // What was put together of the index has a name as well, and is read from one end to the other.
      const lines = plans.flat().filter(line => !/SCAN [cp]$/.test(line))
      expect(lines.filter(line => planner.scan.test(line))).toEqual([])
    }
  })
})
