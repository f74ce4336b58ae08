/** Random sagas whose processes are killed: whatever was done is undone once, in reverse, or the saga has finished. */
import { expect, it } from 'vitest'
import { sagaKillRun } from '../programs/harness/saga-kill-run.ts'
import { forEachDatabaseAtOnce } from '../support/databases.ts'

/** Ten in all. */
const kills = { sqlite: 4, postgres: 3, mysql: 3 }

forEachDatabaseAtOnce('sagas whose processes are killed', database => {
  it(`keep what sagas promise after ${kills[database.name]} kills`, { timeout: 90_000 }, async () => {
    const { url } = await database.isolated()
    const seed = Date.now() % 1_000_000
    const report = await sagaKillRun({
      ...{ url, seed, kills: kills[database.name], graphs: 12, copies: 2, workers: 2, bodyMs: [10, 60] },
      options: { lease: 2500, poll: 50, concurrency: 4 },
    })
    expect(report.findings, `seed ${seed}`).toEqual([])
    expect(report.deaths).toHaveLength(kills[database.name])
  })
})
