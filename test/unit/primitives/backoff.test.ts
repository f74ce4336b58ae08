/** How long `backoffMs` waits: the curves, their limit, and jitter that only adds. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { InvalidArgumentError } from '../../../src/errors.ts'
import { type BackoffSettings, backoffMs } from '../../../src/primitives/backoff.ts'
import type { Duration } from '../../../src/primitives/duration.ts'

const settings = (changes: Partial<BackoffSettings> = {}): BackoffSettings => ({
  backoff: 'exponential',
  delayMs: 1_000,
  maxDelayMs: 30_000,
  jitter: false,
  ...changes,
})
const none = () => 0
const most = () => 1 - Number.EPSILON
const firstSix = (changes: Partial<BackoffSettings>) =>
  [1, 2, 3, 4, 5, 6].map(failures => backoffMs(settings(changes), failures, most))

describe('a curve', () => {
  test('is by default 2, 4, 8, 16, 30, 30 seconds', () => {
    expect(firstSix({})).toEqual([2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
  })

  test('can be linear', () => {
    expect(firstSix({ backoff: 'linear', maxDelayMs: 5_000 })).toEqual([1_000, 2_000, 3_000, 4_000, 5_000, 5_000])
  })

  test('can be flat', () => {
    expect(firstSix({ backoff: 'fixed', delayMs: 700 })).toEqual([700, 700, 700, 700, 700, 700])
  })

  test('is a multiple of the delay', () => {
    expect(firstSix({ delayMs: 10 })).toEqual([20, 40, 80, 160, 320, 640])
    expect(firstSix({ delayMs: 10, backoff: 'linear' })).toEqual([10, 20, 30, 40, 50, 60])
    expect(firstSix({ delayMs: 0 })).toEqual([0, 0, 0, 0, 0, 0])
  })

  test('stays a number however many failures there were', () => {
    expect(backoffMs(settings(), Number.MAX_SAFE_INTEGER, none)).toBe(30_000)
    expect(backoffMs(settings({ delayMs: 0 }), Number.MAX_SAFE_INTEGER, none)).toBe(0)
  })
})

describe('a function', () => {
  test('gets the number of failures and answers in any notation of a duration', () => {
    const backoff = (failures: number): Duration => (failures === 1 ? '1 min' : { seconds: failures })
    expect(firstSix({ backoff, maxDelayMs: null })).toEqual([60_000, 2_000, 3_000, 4_000, 5_000, 6_000])
  })

  test('is held to the limit as well', () => {
    expect(backoffMs(settings({ backoff: () => '1 day' }), 1, none)).toBe(30_000)
  })

  test('that answers nonsense is refused with what it returned', () => {
    const call = () => backoffMs(settings({ backoff: () => 'soon' as Duration }), 1, none)
    expect(call).toThrow(InvalidArgumentError)
    expect(call).toThrow(/^what the backoff function returned is 'soon'/)
  })
})

describe('jitter', () => {
  test('adds up to a tenth, after the limit', () => {
    const jittered = settings({ jitter: true })
    expect(backoffMs(jittered, 1, none)).toBe(2_000)
    expect(backoffMs(jittered, 1, () => 0.5)).toBe(2_100)
    expect(backoffMs(jittered, 9, most)).toBe(32_999)
  })

  test('never shortens a wait, never adds more than a tenth, and leaves whole milliseconds', () => {
    const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
    const delayMs = fc.integer({ min: 0, max: 36_525 * 86_400_000 })
    const backoff = fc.constantFrom('exponential' as const, 'linear' as const, 'fixed' as const)
    fc.assert(
      fc.property(random, delayMs, backoff, fc.integer({ min: 1, max: 2_000 }), (drawn, delayMs, backoff, failures) => {
        const exact = backoffMs(settings({ backoff, delayMs }), failures, () => drawn)
        const jittered = backoffMs(settings({ backoff, delayMs, jitter: true }), failures, () => drawn)
        expect(exact).toBeLessThanOrEqual(30_000)
        expect(jittered).toBeGreaterThanOrEqual(exact)
        expect(jittered).toBeLessThanOrEqual(exact * 1.1)
        expect(Number.isSafeInteger(jittered)).toBe(true)
      }),
    )
  })
})
