/** Which ticks are started, by what is to become of those that were missed. */
import { describe, expect, it } from 'vitest'
import type { CatchUp } from '../../../src/definition/define-schedule.ts'
import { dueTicks } from '../../../src/engine/due-ticks.ts'
import { Timing } from '../../../src/primitives/timing.ts'

const hourly = new Timing({ cron: '0 * * * *' }, 'a test')
const at = (hour: number, minute = 0) => Date.UTC(2026, 2, 4, hour, minute)

function due(catchUp: CatchUp, now: number, { since = 0, limit = 100, timing = hourly } = {}) {
  return dueTicks(timing, { nextAt: at(3), since }, catchUp, { now, limit })
}

describe('a tick that is due', () => {
  it.each(['all', 'latest', 'none'] as const)('is started, whatever becomes of missed ones (%s)', catchUp => {
    expect(due(catchUp, at(3))).toEqual({ ticks: [at(3)], last: at(3), next: at(4) })
  })
})

describe('ticks that were missed', () => {
  it('all: every one is started, oldest first', () => {
    expect(due('all', at(5, 30))).toEqual({ ticks: [at(3), at(4), at(5)], last: at(5), next: at(6) })
  })

  it('all: no more than the limit at a time, and the next one is due at once', () => {
    expect(due('all', at(9), { limit: 2 })).toEqual({ ticks: [at(3), at(4)], last: at(4), next: at(5) })
  })

  it('latest: only the last one is started', () => {
    expect(due('latest', at(5, 30))).toEqual({ ticks: [at(5)], last: at(5), next: at(6) })
  })

  it('none: nothing is started once a minute has passed', () => {
    expect(due('none', at(5, 1))).toEqual({ ticks: [at(5)], last: at(5), next: at(6) })
    expect(due('none', at(5, 2))).toEqual({ ticks: [], last: at(5), next: at(6) })
  })

  it('are found at once, however many they are', () => {
    const timing = new Timing({ every: 1 }, 'a test')
    const now = at(3) + 30 * 86_400_000
    expect(due('latest', now, { timing })).toEqual({ ticks: [now], last: now, next: now + 1 })
  })

  it('by new timing are not made up for before it was there', () => {
    const timing = new Timing({ cron: '*/10 * * * *' }, 'a test')
    const changed = { since: at(5, 5), timing }
    expect(due('all', at(5, 20), changed)).toEqual({
      ticks: [at(3), at(5, 10), at(5, 20)],
      last: at(5, 20),
      next: at(5, 30),
    })
    expect(due('latest', at(5, 6), changed)).toEqual({ ticks: [at(3)], last: at(3), next: at(5, 10) })
  })
})
