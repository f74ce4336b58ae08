/** What `uuidV7` promises: the layout of RFC 9562, and order within the process whatever the clock does. */
import fc from 'fast-check'
import { beforeEach, expect, test, vi } from 'vitest'

let uuidV7: (nowMs?: number) => string

beforeEach(async () => {
  vi.resetModules()
  uuidV7 = (await import('../../../src/primitives/uuid-v7.ts')).uuidV7
})

const timeOf = (id: string) => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)

test('an id has version 7, the RFC variant and the given time', () => {
  const id = uuidV7(1_700_000_000_123)
  expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(timeOf(id)).toBe(1_700_000_000_123)
})

test('without a time the clock of the process is used', () => {
  const before = Date.now()
  const time = timeOf(uuidV7())
  expect(time).toBeGreaterThanOrEqual(before)
  expect(time).toBeLessThanOrEqual(Date.now())
})

test('small and fractional times keep the layout', () => {
  expect(timeOf(uuidV7(0.9))).toBe(0)
  expect(uuidV7(1)).toMatch(/^00000000-0001-7/)
})

test('ids grow while the clock stands still, beyond what the counter holds', () => {
  const ids = Array.from({ length: 20_000 }, () => uuidV7(5_000))
  expect(ids).toEqual([...ids].sort())
  expect(new Set(ids).size).toBe(ids.length)
  expect(timeOf(ids[2_000] ?? '')).toBe(5_000)
  expect(timeOf(ids.at(-1) ?? '')).toBeLessThan(5_020)
})

test('ids grow whatever the clock does', () => {
  let last = ''
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 10_000 }), nowMs => {
      const id = uuidV7(nowMs)
      expect(id > last).toBe(true)
      last = id
    }),
    { numRuns: 2_000 },
  )
})

test.each([-1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 48])('the time %s is refused', nowMs => {
  expect(() => uuidV7(nowMs)).toThrow(/does not fit into a UUID/)
})
