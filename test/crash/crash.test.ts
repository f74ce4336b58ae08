/**
 * Workers killed under load, at every failpoint and at random moments: a short version of `npm run crash`, which does the
 * same for hundreds of kills on durable servers.
 */
import { expect, it } from 'vitest'
import { stepFailpoints } from '../../src/primitives/failpoint.ts'
import { quickKills } from '../programs/harness/crash-command.ts'
import { killRun } from '../programs/harness/kill-run.ts'
import { forEachDatabaseAtOnce } from '../support/databases.ts'

const kills = 12
const seed = 20_261_115
/** All three databases share two cores, with other tests: a shorter lease would lapse without anybody being killed. */
const lightLoad = {
  workers: 2,
  load: 16,
  options: { lease: 2500, poll: 50, concurrency: 4 },
  bodyMs: [40, 100],
  betweenMs: [50, 250],
} as const

forEachDatabaseAtOnce('killed workers', database => {
  it(`leave nothing lost, nothing done twice, and events that lead to what is stored after ${kills} kills`, {
    timeout: 180_000,
  }, async () => {
    const { url } = await database.isolated()
    const report = await killRun({ ...quickKills, ...lightLoad, url, kills, seed, say: () => {} })
    expect(report.findings).toEqual([])
    expect(report.deaths).toHaveLength(kills)
    expect(report.deaths.map(death => death.cause)).toEqual(expect.arrayContaining([...stepFailpoints]))
  })
})
