/** The log by which a rate is kept: short, and never in favour of one more. */
import { expect, it } from 'vitest'
import { nextStartAt, parseLog, type StartLog, startedSince, withStarts } from '../../../src/store/start-log.ts'

const perMs = 1000
const period = perMs * 1000

it('counts what began within the last period', () => {
  const log = withStarts(withStarts(parseLog(null), 1_000_000, 2, perMs), 1_500_000, 3, perMs)
  expect(startedSince(log, 1_600_000, perMs)).toBe(5)
  expect(startedSince(log, 2_000_000, perMs)).toBe(3)
  expect(startedSince(log, 2_500_000, perMs)).toBe(0)
})

it('forgets what is older than a period, and stays short under a steady stream', () => {
  let log: StartLog = []
  for (let at = 0; at < 5 * period; at += 100) log = withStarts(log, at, 1, perMs)
  expect(log.length).toBeLessThanOrEqual(101)
  expect(startedSince(log, 5 * period, perMs)).toBeGreaterThanOrEqual(10_000 - 100)
})

it('lets no stretch of a period have more than the limit, whenever one asks', () => {
  const limit = 7
  let log: StartLog = []
  let seed = 42
  const random = () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return seed / 2_147_483_648
  }
  const times: number[] = []
  for (let at = 0; times.length < 500; at += Math.floor(random() * 40_000)) {
    const free = limit - startedSince(log, at, perMs)
    const take = Math.min(free, Math.floor(random() * 4))
    if (take <= 0) continue
    log = withStarts(log, at, take, perMs)
    for (let i = 0; i < take; i++) times.push(at)
  }
  const most = Math.max(...times.map(from => times.filter(at => at >= from && at < from + period).length))
  expect(most).toBe(limit)
})

it('tells when one more may begin', () => {
  const log = withStarts(withStarts([], 1_000_000, 2, perMs), 1_500_000, 1, perMs)
  expect(nextStartAt(log, 3, perMs)).toBe(2_000_000)
  expect(nextStartAt(log, 1, perMs)).toBe(2_500_000)
  expect(nextStartAt(log, 4, perMs)).toBeNull()
})
