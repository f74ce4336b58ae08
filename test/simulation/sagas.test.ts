/**
 * Random sagas with random failures, requests, decisions and deaths of workers on real stores: a short version of
 * `npm run simulate -- --sagas`. A seed that fails prints how to play it again.
 */
import { expect, it } from 'vitest'
import { forEachDatabase, forEachDatabaseAtOnce, type TestDatabase } from '../support/databases.ts'
import { spawnProgram } from '../support/spawn-program.ts'
import { simulateSagas } from './simulate-sagas.ts'

/** Most on the quickest; the others have their own locks and their own ways to lose a race. */
const seedCounts = { sqlite: 2000, postgres: 50, mysql: 50 }
const firstSeed = 1

/** In a process of its own, so that all three databases are at it at once. */
async function play(database: TestDatabase, from: number, count: number): Promise<unknown> {
  const { url } = await database.isolated()
  const player = spawnProgram('saga-player', [database.name, url, String(from), String(count)])
  return player.nextMessage(undefined, 60_000 + count * 300)
}

// At once: each has its own process, and the servers leave theirs much time to wait in.
forEachDatabaseAtOnce('sagas', database => {
  const count = seedCounts[database.name]

  it(`keep what they promise for ${count} seeds`, { timeout: 90_000 + count * 300 }, async () => {
    expect(await play(database, firstSeed, count)).toEqual({ played: count, lines: '' })
  })
})

forEachDatabase('sagas', database => {
  it('play the same again from the same seed', { timeout: 60_000 }, async () => {
    const { url } = await database.isolated()
    const logs: string[] = []
    for (let round = 0; round < 2; round++) {
      const log: string[] = []
      await simulateSagas({ url, seeds: [7, 8, 9], onPlayed: report => log.push(...report.log) })
      logs.push(log.join('\n'))
    }
    expect(logs[0]).not.toBe('')
    expect(logs[1]).toBe(logs[0])
  })
})
