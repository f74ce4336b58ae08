/**
 * Workers killed under load, at every failpoint and at random moments: a short version of `npm run crash`, which does the
 * same for hundreds of kills on durable servers.
 */
import { describe, expect, it } from 'vitest'
import { defaultKills, lateRetakes, quickKills } from '../programs/harness/crash-command.ts'
import { failpoints, killRun } from '../programs/harness/kill-run.ts'
import { forEachDatabase } from '../support/databases.ts'

const kills = 12
const seed = 20_261_115

describe.concurrent('killed workers', () => {
  forEachDatabase('under load', database => {
    it(`leave nothing lost and nothing done twice after ${kills} kills`, { timeout: 90_000 }, async () => {
      const { url } = await database.isolated()
      const load = { workers: 2, load: 30, options: { lease: 1000, poll: 50, concurrency: 8 } }
      const report = await killRun({ ...quickKills, ...load, betweenMs: [50, 300], url, kills, seed, say: () => {} })
      expect(report.findings).toEqual([])
      expect(report.deaths).toHaveLength(kills)
      expect(report.deaths.map(death => death.cause)).toEqual(expect.arrayContaining([...failpoints]))
      expect(report.workflows).toBeGreaterThanOrEqual(30)
    })

    it('have their work taken over within 15 seconds at the default settings', { timeout: 90_000 }, async () => {
      const { url } = await database.isolated()
      const report = await killRun({ ...defaultKills, kills: 1, workers: 2, load: 20, url, seed, say: () => {} })
      expect(report.findings).toEqual([])
      expect(report.retakes.length).toBeGreaterThan(0)
      expect(lateRetakes(report)).toEqual([])
    })
  })
})
