/**
 * Schedulers killed and restarted while a schedule ticks: a short version of `npm run crash -- --ticks 1000`, which has
 * eight of them.
 */
import { expect, it } from 'vitest'
import { audit, tickRun } from '../programs/harness/tick-run.ts'
import { forEachDatabaseAtOnce } from '../support/databases.ts'

const lightly = { ticks: 60, everyMs: 60, workers: 2, seed: 20_261_115, betweenMs: [200, 600], say: () => {} } as const

forEachDatabaseAtOnce('killed schedulers', database => {
  it('start every tick once, and none twice', { timeout: 90_000 }, async () => {
    const { url } = await database.isolated()
    const report = await tickRun({ ...lightly, url })
    expect(report.findings).toEqual([])
    expect(report.ticks).toBeGreaterThanOrEqual(lightly.ticks)
    const causes = report.deaths.map(death => death.cause)
    expect(causes).toEqual(expect.arrayContaining(['tick.before-commit', 'tick.after-commit', 'random']))
  })
})

it('the audit sees a tick that is missing, one that came twice, one too early and one that did not run', () => {
  const beat = (tick: number, more = {}) => ({ tick, state: 'finished', createdAt: tick * 1000, ...more })
  const options = { ...lightly, url: '', ticks: 3 }
  expect(audit([beat(60), beat(120), beat(180)], 3, options)).toEqual([])
  expect(audit([beat(60), beat(180), beat(240)], 3, options)).toEqual(['Ticks between 60 and 180 are missing.'])
  expect(audit([beat(60), beat(60), beat(120)], 3, options)).toEqual(['Tick 60 was started twice.'])
  expect(audit([beat(60), beat(120, { createdAt: 119_999 }), beat(180)], 3, options)).toEqual([
    'Tick 120 was started 1 µs too early.',
  ])
  expect(audit([beat(60), beat(120, { state: 'ready' }), beat(180)], 3, options)).toEqual([
    'The workflow of tick 120 is ready.',
  ])
  expect(audit([beat(60), beat(120)], 3, options)).toHaveLength(2)
})
