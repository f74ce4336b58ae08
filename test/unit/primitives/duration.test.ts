/** What `toMilliseconds` promises: exact whole milliseconds for what is clear, a named refusal for what is not. */
import fc from 'fast-check'
import parse from 'parse-duration'
import { describe, expect, test } from 'vitest'
import { isGenevaError } from '../../../src/errors.ts'
import { type Duration, toMilliseconds } from '../../../src/primitives/duration.ts'

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

const temporal = (fields: Record<string, number>): Duration => {
  class TemporalDuration {
    total(): number {
      throw new RangeError('weeks need a reference date')
    }
  }
  const zero = {
    years: 0,
    months: 0,
    weeks: 0,
    days: 0,
    hours: 0,
    minutes: 0,
    seconds: 0,
    milliseconds: 0,
    microseconds: 0,
    nanoseconds: 0,
  }
  for (const [key, value] of Object.entries({ ...zero, ...fields })) {
    Object.defineProperty(TemporalDuration.prototype, key, { get: () => value })
  }
  return new TemporalDuration() as unknown as Duration
}

describe('durations that are understood', () => {
  const cases: [Duration, number][] = [
    [0, 0],
    [-0, 0],
    [1_500, 1_500],
    [0.2, 1],
    ['30s', 30 * second],
    ['1 min', minute],
    ['1m', minute],
    ['250ms', 250],
    ['2 days', 2 * day],
    ['14 days', 14 * day],
    ['1 week', 7 * day],
    ['1.5h', 1.5 * hour],
    ['1d12h', 36 * hour],
    ['1d 12h', 36 * hour],
    ['1 hour 30 minutes', 90 * minute],
    ['1 day 2 hours 3 minutes 4 seconds 5 ms' as Duration, day + 2 * hour + 3 * minute + 4 * second + 5],
    ['0s', 0],
    ['36525 days', 36_525 * day],
    [{ days: 2 }, 2 * day],
    [{ weeks: 1, days: 1, hours: 1, minutes: 1, seconds: 1, milliseconds: 1 }, 8 * day + hour + minute + second + 1],
    [{ hours: 0.5 }, 30 * minute],
    [{ days: -0 }, 0],
    [{ days: 1, hours: undefined } as unknown as Duration, day],
    [temporal({ weeks: 1, hours: 2 }), 7 * day + 2 * hour],
    [temporal({ microseconds: 1 }), 1],
    [temporal({}), 0],
  ]
  test.each(cases)('%o is %d ms', (duration, ms) => {
    expect(toMilliseconds(duration, 'wait')).toBe(ms)
  })

  test.each([
    ['0.07 minutes', 4_200],
    ['1.001s', 1_001],
    ['1.005s', 1_005],
    ['0.1 ms', 1],
  ] as [Duration, number][])('%j rounds up to %d ms, but not because of floating point', (duration, ms) => {
    expect(toMilliseconds(duration, 'wait')).toBe(ms)
  })

  test('whole seconds, minutes, hours and days are exact in each notation', () => {
    fc.assert(
      fc.property(fc.nat(36_000), count => {
        expect(toMilliseconds(`${count} days`, 'wait')).toBe(count * day)
        expect(toMilliseconds({ days: count }, 'wait')).toBe(count * day)
        expect(toMilliseconds(`${count}h${count}s`, 'wait')).toBe(count * hour + count * second)
        expect(toMilliseconds(count, 'wait')).toBe(count)
      }),
    )
  })

  test('a locale that the application gave to parse-duration changes nothing, and stays', () => {
    const english = parse.unit
    const foreign = { ...english, h: 1, group: '.', decimal: ',' } as unknown as typeof english
    parse.unit = foreign
    try {
      expect(toMilliseconds('1.5h', 'wait')).toBe(1.5 * hour)
      expect(parse.unit).toBe(foreign)
    } finally {
      parse.unit = english
    }
  })
})

describe('durations that are refused', () => {
  const bad: [unknown, RegExp][] = [
    [-1, /negative/],
    [Number.NaN, /finite/],
    [Number.POSITIVE_INFINITY, /finite/],
    [36_525 * day + 1, /100 years/],
    ['36526 days', /100 years/],
    ['', /write '2 days'/],
    ['5', /write '2 days'/],
    ['soon', /write '2 days'/],
    ['-2 days', /write '2 days'/],
    ['2 days foo', /write '2 days'/],
    ['foo 2 days', /write '2 days'/],
    ['2 fortnights', /write '2 days'/],
    ['1h30', /write '2 days'/],
    ['1e3s', /write '2 days'/],
    ['1,000 s', /write '2 days'/],
    ['2 Days', /write '2 days'/],
    ['1s '.repeat(50).trim(), /write '2 days'/],
    ['3 months', /use days/],
    ['1mo', /use days/],
    ['1y', /use days/],
    ['2 years 3 days', /use days/],
    [{}, /empty/],
    [{ days: undefined }, /empty/],
    [[], /empty/],
    [new Date(), /empty/],
    [{ total: () => 5 }, /empty/],
    [{ day: 1 }, /"day" is not one of weeks, days/],
    [{ months: 1 }, /use days/],
    [{ days: 1, years: 1 }, /use days/],
    [{ days: 1, hours: -1 }, /hours must be a number and not negative/],
    [{ days: '1' }, /days must be a number/],
    [{ days: Number.NaN }, /days must be a number/],
    [{ days: Number.POSITIVE_INFINITY }, /finite/],
    [{ weeks: 10_000 }, /100 years/],
    [temporal({ months: 1 }), /use days/],
    [temporal({ years: 1 }), /use days/],
    [temporal({ hours: -1 }), /not negative/],
    [null, /write '2 days'/],
    [undefined, /write '2 days'/],
    [true, /write '2 days'/],
    [5n, /write '2 days'/],
  ]
  test.each(bad)('%o', (duration, reason) => {
    expect(() => toMilliseconds(duration as Duration, 'wait')).toThrow(reason)
  })

  test('the refusal names the option and the value', () => {
    try {
      toMilliseconds('soon' as Duration, 'The wait of step ship')
      expect.unreachable()
    } catch (error) {
      expect(isGenevaError(error, 'INVALID_ARGUMENT')).toBe(true)
      expect(String(error)).toContain("The wait of step ship is 'soon'")
    }
  })

  test('any text gives whole milliseconds or a refusal', () => {
    const pieces = fc.constantFrom('1', '2.5', ' ', 'd', 'h', 'min', 'ms', 'mo', '-', 'e5', ',', 'x', '\n')
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 8 }), parts => {
        try {
          const ms = toMilliseconds(parts.join('') as Duration, 'wait')
          expect(Number.isSafeInteger(ms) && ms >= 0).toBe(true)
        } catch (error) {
          expect(isGenevaError(error, 'INVALID_ARGUMENT')).toBe(true)
        }
      }),
      { numRuns: 1_000 },
    )
  })
})

test('the compiler refuses what is plainly no duration', () => {
  const accepted: Duration[] = ['2 days', '30s', '1 min', '1d12h', '14 days', '1.5h', '1 week 2 days', { days: 2 }, 5]
  expect(accepted).toHaveLength(9)
  const refused: Duration[] = [
    // @ts-expect-error no number
    'soon',
    // @ts-expect-error no unit
    '5',
    // @ts-expect-error unknown unit
    '2 fortnights',
    // @ts-expect-error months differ in length
    '3 months',
    // @ts-expect-error months differ in length
    { months: 1 },
    // @ts-expect-error the key is days
    { day: 1 },
  ]
  for (const duration of refused) expect(() => toMilliseconds(duration, 'wait')).toThrow()
})
