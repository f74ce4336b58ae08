/** Transactional steps whose processes are killed: what they have written and how they ended are committed together, once. */
import { expect, it } from 'vitest'
import { exactlyOnceRun, onceKills } from '../programs/harness/exactly-once-run.ts'
import { forEachDatabaseAtOnce } from '../support/databases.ts'

const kills = 30
/** As many processes are started as are killed; what they do between two kills may be little. */
const few = {
  failpoints: ['step.after', 'finish.before-commit', 'finish.after-commit'],
  victims: 'busy',
  options: { ...onceKills.options, concurrency: 3 },
  workers: 2,
  bodyMs: [1, 5],
  load: 6,
  betweenMs: [20, 120],
} as const

forEachDatabaseAtOnce('transactional steps whose processes are killed', database => {
  it(`count exactly once under ${kills} kills`, { timeout: 300_000 }, async () => {
    const { url } = await database.isolated()
    const seed = Date.now() % 1_000_000
    const report = await exactlyOnceRun({ ...onceKills, ...few, url, kills, seed, say: () => {} })
    expect(report.findings, `seed ${seed}`).toEqual([])
    expect(report.deaths).toHaveLength(kills)
  })
})
