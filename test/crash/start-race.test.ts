/** Two processes that start a workflow for the same hero at the same instant: the database lets exactly one of them. */
import { expect, it } from 'vitest'
import { Contest, Contestants } from '../programs/harness/contest.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useRacers } from './use-racers.ts'

const rounds = 120

forEachDatabase('two processes starting for the same hero at once', database => {
  const race = useRacers(database)

  it(`have one winner in each of ${rounds} rounds, and the loser is told who it is`, { timeout: 60_000 }, async () => {
    const wins = new Map<number, number>()
    for (let round = 0; round < rounds; round++) {
      const results = await race.round('start')
      const [winner, ...more] = results.flatMap(result => result.started ?? [])
      expect(more).toEqual([])
      expect(results.filter(result => !result.started)).toEqual([{ code: 'ALREADY_ACTIVE', holder: winner }])
      const place = results.findIndex(result => result.started)
      wins.set(place, (wins.get(place) ?? 0) + 1)
      await race.geneva.cancel(winner ?? '')
    }
    // A race that always has the same winner would not be one.
    expect(Math.min(wins.get(0) ?? 0, wins.get(1) ?? 0)).toBeGreaterThan(0)
    expect(await race.geneva.list(Contest, { state: 'active' })).toMatchObject({ items: [] })
  })

  it('both start it with allowMultiple, also beside one that holds the place', { timeout: 60_000 }, async () => {
    const holder = await race.geneva.start(Contest, { hero: Contestants.ref('the one') })
    for (let round = 0; round < 20; round++) {
      const started = (await race.round('start beside')).flatMap(result => result.started ?? [])
      expect(new Set(started).size).toBe(2)
      const refused = await race.round('start')
      const told = { code: 'ALREADY_ACTIVE', holder: holder.id }
      expect(refused).toEqual([told, told])
    }
    expect((await race.geneva.list(Contest, { state: 'active' })).items).toHaveLength(41)
  })
})
