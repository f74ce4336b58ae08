/** Application clocks that are off by years change nothing that is due: only the clock of the database counts. */
import { expect, it } from 'vitest'
import { FiveSteps } from '../programs/harness/load-workflows.ts'
import { forEachDatabaseAtOnce } from '../support/databases.ts'
import { waitFor } from '../support/wait-for.ts'
import { CrashWorld } from './crash-world.ts'

const tenYears = 10 * 365 * 24 * 3600 * 1000
/** The wait of step `pack`, in microseconds. */
const waited = 30_000

forEachDatabaseAtOnce('a worker whose clock is wrong', database => {
  it.each([
    ['ten years ahead', tenYears],
    ['ten years behind', -tenYears],
  ])('%s runs what is due when it is due, and keeps its lease', async (_, clockOffsetMs) => {
    await using world = await CrashWorld.open(database)
    const later = await world.geneva.start(FiveSteps, {}, { delay: '2 days' })
    await world.startLoad(5)
    const options = { lease: '3s', poll: 50 } as const
    const wrong = await world.worker({ clockOffsetMs, options })
    const right = await world.worker({ options })
    await world.geneva.start(FiveSteps, {}, { delay: 300 })
    const open = `select id from ${world.access.table('geneva_drive_workflows')} where state <> 'finished'`
    await waitFor(async () => (await world.access.query(open)).length === 1)

    const { history, journal, workflows } = await world.rows()
    expect(history.filter(row => row.outcome !== 'success')).toEqual([])
    expect(workflows.get(later.id)).toBe('ready')
    expect(journal.some(entry => entry.workflowId === later.id)).toBe(false)
    for (const row of history.filter(each => each.step === 'pack')) {
      const before = history.find(each => each.workflowId === row.workflowId && each.step === 'charge')
      const pause = row.startedAt - (before?.endedAt ?? 0)
      expect(pause).toBeGreaterThanOrEqual(waited)
      expect(pause).toBeLessThan(waited + 3_000_000)
    }
    const registered = `select pid from ${world.access.table('geneva_drive_workers')}`
    const workers = await waitFor(async () => {
      const rows = await world.access.query(registered)
      return rows.length === 2 ? rows : null
    })
    expect(workers.map(row => Number(row.pid)).sort()).toEqual([wrong.pid, right.pid].sort())
    expect(new Set(journal.map(entry => entry.pid))).toContain(wrong.pid)
  })
})
