/**
 * Fan-ins whose parents end at the same instant in three processes: a short version of `npm run crash -- --fan-ins 500`,
 * which does the same in every width, with processes that are killed, on durable servers.
 */
import { expect, it } from 'vitest'
import { fanInRun } from '../programs/harness/fan-in-run.ts'
import { diamond, wavesOf, wide } from '../programs/harness/fan-in-waves.ts'
import { forEachDatabase, forEachDatabaseAtOnce } from '../support/databases.ts'

const seed = 20_261_115
const many = <T>(count: number, item: T): T[] => Array.from({ length: count }, () => item)

forEachDatabase('a fan-in whose parents end at the same instant', database => {
  it('runs once: 500 diamonds, 20 with 200 parents, 2 with 1,000', { timeout: 120_000 }, async () => {
    const { url } = await database.isolated()
    const waves = wavesOf([...many(500, diamond), ...many(20, wide(200)), ...many(2, wide(1000))])
    const report = await fanInRun({ url, waves, kills: false, seed, say: () => {} })
    expect(report.findings).toEqual([])
    expect(report).toMatchObject({ fanIns: 522, parents: 7000, calls: 7000 + 522 + 500, taken: 0 })
  })
})

// Most of it is waiting until the lease of the dead has lapsed.
forEachDatabaseAtOnce('a fan-in whose parents end at the same instant', database => {
  it('is recorded once where a process is killed meanwhile', { timeout: 120_000 }, async () => {
    const { url } = await database.isolated()
    const rounds = [2, 3, 5, 10, 40].map(width => wide(width, true))
    const report = await fanInRun({ url, waves: many(3, rounds), kills: true, seed, say: () => {} })
    expect(report.findings).toEqual([])
    expect(report.deaths).toHaveLength(3)
  })
})
