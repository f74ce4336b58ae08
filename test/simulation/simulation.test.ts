/**
 * Random graphs with random failures, skips, reattempts, requests and deaths of workers against the model: a short version
 * of `npm run simulate`, which plays as many seeds as it is asked for. A seed that fails prints how to play it again.
 */
import { expect, it } from 'vitest'
import { openAccess } from '../programs/harness/plain-access.ts'
import { forEachDatabase, type TestDatabase } from '../support/databases.ts'
import { reportLines } from './report-lines.ts'
import { simulate } from './simulate.ts'

/** Most on the quickest; the others have their own locks and their own ways to lose a race. */
const seedCounts = { sqlite: 12, postgres: 5, mysql: 5 }
const firstSeed = 411
/** A condition ends late, after another worker has claimed its execution: the two runs must not be taken for one. */
const lateSeed = 297_294

async function play(database: TestDatabase, seeds: readonly number[]): Promise<string[]> {
  const { url } = await database.isolated()
  const access = await openAccess(url)
  try {
    for (const seed of seeds) {
      const report = await simulate({ url, access }, seed)
      if (report.findings.length === 0) continue
      const again = `again with: npm run simulate -- --seed ${seed} --database ${database.name}`
      return [...reportLines(report), again]
    }
    return []
  } finally {
    await access.close()
  }
}

/** Who comes first of two at the same instant is for a server to say: from there on two plays may differ. */
function isOtherWinner(one = '', other = ''): boolean {
  return one !== other && [one, other].every(line => line.includes(' at the same time ') && line.includes(', then '))
}

forEachDatabase('a seed', database => {
  it('plays the same again', { timeout: 120_000 }, async () => {
    const { url } = await database.isolated()
    const access = await openAccess(url)
    const playOnce = async (seed: number) => (await simulate({ url, access }, seed)).play?.log ?? []
    let lines = 0
    for (let seed = firstSeed; seed < firstSeed + 4; seed++) {
      const [once, again] = [await playOnce(seed), await playOnce(seed)]
      const parting =
        database.name === 'sqlite' ? -1 : once.findIndex((line, index) => isOtherWinner(line, again[index]))
      const end = parting === -1 ? Number.POSITIVE_INFINITY : parting
      expect(again.slice(0, end)).toEqual(once.slice(0, end))
      lines += Math.min(end, once.length)
    }
    await access.close()
    expect(lines).toBeGreaterThan(20)
  })
})

forEachDatabase('the engine', database => {
  const count = seedCounts[database.name]

  it(`does what the model says for ${count + 1} seeds`, { timeout: 90_000 }, async () => {
    const seeds = [...Array.from({ length: count }, (_, index) => firstSeed + index), lateSeed]
    expect((await play(database, seeds)).join('\n')).toBe('')
  })
})
