/** Priorities that have grown to 100: every row that has come so far is put in order, found by index, whoever holds others. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Database } from '../../src/store/sql/dialect.ts'
import { runTransaction } from '../../src/store/sql/run-transaction.ts'
import { raw, sql } from '../../src/store/sql/sql.ts'
import type { SqlStore } from '../../src/store/sql/sql-store.ts'
import { forEachDatabase } from '../support/databases.ts'
import { openRecorded } from '../support/open-recorded.ts'
import { startSome } from '../support/open-store.ts'
import { planners } from '../support/planners.ts'
import { explain, type Recording } from '../support/recording-database.ts'

const long = 600
const lanes = 450

forEachDatabase('rows whose priority has grown to 100', database => {
  const planner = planners[database.name]
  let real: Database
  let recording: Recording
  let store: SqlStore

  beforeAll(async () => {
    ;({ real, recording, store } = await openRecorded(database))
    await store.limits.setAging(0.5)
    await startSome(store, long, { first: { queue: 'long', priority: 10 } })
    await startSome(store, 40, { lane: 'a key', first: { queue: 'keyed', priority: 10, lane: 'a key' } })
    for (let i = 0; i < lanes; i++) {
      const lane = `key ${String(i).padStart(4, '0')}`
      await startSome(store, 1, { lane, first: { queue: 'lanes', priority: 10, lane } })
    }
    for (const statement of planner.analyze) await real.query(raw(statement))
    store.setClockOffset(300_000)
  })
  afterAll(() => store.close())

  const age = (queue: string) => store.limits.ageCapped([{ queue, handler: 'Sample' }])

  /** Where the database locks rows, somebody holds one of the queue meanwhile. */
  async function whileOneIsHeld<T>(queue: string, act: () => Promise<T>): Promise<T> {
    if (database.name === 'sqlite') return act()
    return runTransaction(real, async transaction => {
      await transaction.query(
        sql`select id from geneva_drive_active_executions where queue = ${queue} and handler = 'Sample' and lane = ''
          and sort_key is not null order by sort_key limit 1 for update`,
      )
      return act()
    })
  }

  it('are all put in order, past one that somebody holds, and that one afterwards', async () => {
    const count = await whileOneIsHeld('long', () => age('long'))
    expect(count).toBe(database.name === 'sqlite' ? long : long - 1)
    expect(count + (await age('long'))).toBe(long)
    expect(await age('long')).toBe(0)
  })

  it('are put in order in every lane, however many there are, and each once', async () => {
    expect(await age('keyed')).toBe(40)
    expect(await age('keyed')).toBe(0)
    const counts = [await age('lanes'), await age('lanes'), await age('lanes'), await age('lanes')]
    expect(counts).toEqual([200, 200, 50, 0])
  })

  it('are found by index', async () => {
    recording.take()
    await age('keyed')
    await age('long')
    const statements = recording.take().filter(({ parts }) => parts.join('').includes('active_executions'))
    expect(statements.length).toBeGreaterThan(3)
    for (const statement of statements) {
      const plan = (await explain(real, statement, planner.explain)).join('\n')
      expect(plan).not.toMatch(planner.scan)
      expect(plan).toContain('active_claimable')
    }
  })
})
