/** How long the work of a killed worker lies about when nothing was configured. */
import { expect, it } from 'vitest'
import { defaultKills, lateRetakes } from '../programs/harness/crash-command.ts'
import { killRun } from '../programs/harness/kill-run.ts'
import { forEachDatabaseAtOnce } from '../support/databases.ts'

forEachDatabaseAtOnce('a killed worker at the default settings', database => {
  it('has its work taken over within 15 seconds', { timeout: 90_000 }, async () => {
    const { url } = await database.isolated()
    const light = { kills: 1, workers: 2, load: 20, bodyMs: [100, 200] } as const
    const report = await killRun({ ...defaultKills, ...light, url, seed: 1, say: () => {} })
    expect(report.findings).toEqual([])
    expect(report.retakes.length).toBeGreaterThan(0)
    expect(lateRetakes(report)).toEqual([])
  })
})
