/** When cron expressions tick: fields, days, time zones, and what becomes of the hour that comes twice or not at all. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Cron } from '../../../src/primitives/cron.ts'

function ticks(expression: string, from: string, count: number, timeZone?: string): string[] {
  const cron = new Cron(expression, timeZone)
  const found: string[] = []
  for (let at = cron.next(Date.parse(from)); at !== null && found.length < count; at = cron.next(at)) {
    found.push(new Date(at).toISOString().replace(':00.000Z', 'Z'))
  }
  return found
}

describe('fields', () => {
  it.each([
    ['* * * * *', ['2026-03-04T10:17Z', '2026-03-04T10:18Z']],
    ['*/15 * * * *', ['2026-03-04T10:30Z', '2026-03-04T10:45Z']],
    ['5/20 * * * *', ['2026-03-04T10:25Z', '2026-03-04T10:45Z']],
    ['10-30/10 * * * *', ['2026-03-04T10:20Z', '2026-03-04T10:30Z', '2026-03-04T11:10Z']],
    ['0 9 * * 1-5', ['2026-03-05T09:00Z', '2026-03-06T09:00Z', '2026-03-09T09:00Z']],
    ['0 9 * * MON,Fri', ['2026-03-06T09:00Z', '2026-03-09T09:00Z']],
    ['30 4 1,15 * *', ['2026-03-15T04:30Z', '2026-04-01T04:30Z']],
    ['0 0 * jan-feb *', ['2027-01-01T00:00Z', '2027-01-02T00:00Z']],
    ['0 0 29 2 *', ['2028-02-29T00:00Z', '2032-02-29T00:00Z']],
    ['0 12 L * *', ['2026-03-31T12:00Z', '2026-04-30T12:00Z']],
    ['0 12 1,L * *', ['2026-03-31T12:00Z', '2026-04-01T12:00Z']],
    ['0 0 * * 7', ['2026-03-08T00:00Z', '2026-03-15T00:00Z']],
    ['0 0 * * 5-7', ['2026-03-06T00:00Z', '2026-03-07T00:00Z', '2026-03-08T00:00Z', '2026-03-13T00:00Z']],
    ['@hourly', ['2026-03-04T11:00Z', '2026-03-04T12:00Z']],
    ['@weekly', ['2026-03-08T00:00Z']],
    ['  0   9  *  *  *  ', ['2026-03-05T09:00Z']],
  ])('%s', (expression, expected) => {
    expect(ticks(expression, '2026-03-04T10:16:59.999Z', expected.length)).toEqual(expected)
  })

  it('a tick is never the instant it was asked from, and one millisecond before it is enough', () => {
    expect(ticks('0 9 * * *', '2026-03-04T09:00:00.000Z', 1)).toEqual(['2026-03-05T09:00Z'])
    expect(ticks('0 9 * * *', '2026-03-04T08:59:59.999Z', 1)).toEqual(['2026-03-04T09:00Z'])
  })

  it('a day fits either field where both say something, and both where one is a star', () => {
    expect(ticks('0 0 13 * 5', '2026-03-04T00:00Z', 3)).toEqual([
      '2026-03-06T00:00Z',
      '2026-03-13T00:00Z',
      '2026-03-20T00:00Z',
    ])
    expect(ticks('0 0 13 * *', '2026-03-04T00:00Z', 2)).toEqual(['2026-03-13T00:00Z', '2026-04-13T00:00Z'])
  })

  it('29 February is found across a century that is no leap year', () => {
    expect(ticks('0 0 29 2 *', '2096-03-01T00:00Z', 1)).toEqual(['2104-02-29T00:00Z'])
  })
})

describe('what is refused', () => {
  it.each([
    ['* * * *', /has 4 fields/],
    ['0 0 * * * *', /for less than a minute use `every`/],
    ['60 * * * *', /"60" is no minute, which is 0 to 59/],
    ['* 24 * * *', /"24" is no hour/],
    ['* * 0 * *', /"0" is no day of the month, which is 1 to 31/],
    ['* * * 13 *', /"13" is no month, which is 1 to 12 or jan, feb/],
    ['* * * * 8', /"8" is no day of the week/],
    ['* * * foo *', /"foo" is no month/],
    ['5-1 * * * *', /begins after it ends/],
    ['*/0 * * * *', /must be above 0/],
    ['1,,2 * * * *', /"" is no minute/],
    ['? * * * *', /"\?" is no minute/],
    ['-5 * * * *', /"-5" is no minute/],
    ['0 0 30 2 *', /never comes/],
    ['@often', /has 1 fields/],
    ['', /has 1 fields/],
  ])('%s', (expression, reason) => {
    expect(() => new Cron(expression)).toThrow(reason)
  })

  it('a time zone that nobody knows', () => {
    expect(() => new Cron('* * * * *', 'Europe/Atlantis')).toThrow(/"Europe\/Atlantis" is not known/)
  })
})

describe('time zones', () => {
  it('nine in the morning stays nine on the wall, summer and winter', () => {
    expect(ticks('0 9 * * 1-5', '2026-03-27T00:00Z', 2, 'Europe/Amsterdam')).toEqual([
      '2026-03-27T08:00Z',
      '2026-03-30T07:00Z',
    ])
    expect(ticks('0 9 * * *', '2026-10-24T00:00Z', 2, 'Europe/Amsterdam')).toEqual([
      '2026-10-24T07:00Z',
      '2026-10-25T08:00Z',
    ])
  })

  it('the day of the week is the one of the place', () => {
    expect(ticks('30 0 * * MON', '2026-03-01T00:00Z', 1, 'Pacific/Auckland')).toEqual(['2026-03-01T11:30Z'])
    expect(ticks('0 22 * * SUN', '2026-03-01T12:00Z', 1, 'America/Los_Angeles')).toEqual(['2026-03-02T06:00Z'])
  })

  it('an offset of half an hour is no obstacle', () => {
    expect(ticks('0 0 * * *', '2026-03-04T00:00Z', 1, 'Asia/Kolkata')).toEqual(['2026-03-04T18:30Z'])
    expect(ticks('45 1 * * *', '2026-04-04T00:00Z', 2, 'Australia/Lord_Howe')).toEqual([
      '2026-04-04T14:45Z',
      '2026-04-05T15:15Z',
    ])
  })
})

describe('where the clocks are put forward (Amsterdam, 29 March 2026, 02:00 becomes 03:00)', () => {
  it('a tick at a time that does not exist comes at the change, once', () => {
    const expected = ['2026-03-28T01:30Z', '2026-03-29T01:00Z', '2026-03-30T00:30Z']
    expect(ticks('30 2 * * *', '2026-03-27T12:00Z', 3, 'Europe/Amsterdam')).toEqual(expected)
    expect(ticks('*/10 2 * * *', '2026-03-29T00:00Z', 2, 'Europe/Amsterdam')).toEqual([
      '2026-03-29T01:00Z',
      '2026-03-30T00:00Z',
    ])
  })

  it('one at the change itself does not come twice', () => {
    expect(ticks('0 2,3 * * *', '2026-03-29T00:00Z', 2, 'Europe/Amsterdam')).toEqual([
      '2026-03-29T01:00Z',
      '2026-03-30T00:00Z',
    ])
  })

  it('an hourly tick comes every hour of time that passes', () => {
    expect(ticks('30 * * * *', '2026-03-29T00:00Z', 3, 'Europe/Amsterdam')).toEqual([
      '2026-03-29T00:30Z',
      '2026-03-29T01:30Z',
      '2026-03-29T02:30Z',
    ])
  })

  it('a midnight that does not exist is the first moment of its day', () => {
    expect(ticks('0 0 * * *', '2026-04-23T12:00Z', 2, 'Africa/Cairo')).toEqual([
      '2026-04-23T22:00Z',
      '2026-04-24T21:00Z',
    ])
  })

  it('a day that a place left out is made up for at its end', () => {
    expect(ticks('0 12 30 12 *', '2011-12-01T00:00Z', 1, 'Pacific/Apia')).toEqual(['2011-12-30T10:00Z'])
  })
})

describe('where the clocks are put back (Amsterdam, 25 October 2026, 03:00 becomes 02:00)', () => {
  it('a tick at a time that comes twice comes the first time only', () => {
    expect(ticks('30 2 * * *', '2026-10-24T12:00Z', 2, 'Europe/Amsterdam')).toEqual([
      '2026-10-25T00:30Z',
      '2026-10-26T01:30Z',
    ])
    expect(ticks('30 2 * * *', '2026-10-25T00:45Z', 1, 'Europe/Amsterdam')).toEqual(['2026-10-26T01:30Z'])
  })

  it('an hourly tick comes in both hours', () => {
    expect(ticks('30 * * * *', '2026-10-25T00:00Z', 3, 'Europe/Amsterdam')).toEqual([
      '2026-10-25T00:30Z',
      '2026-10-25T01:30Z',
      '2026-10-25T02:30Z',
    ])
  })
})

describe('the latest tick', () => {
  const cron = new Cron('0 9 * * 1', 'Europe/Amsterdam')
  const at = (text: string) => Date.parse(text)

  it('is the last one up to an instant, that instant included', () => {
    expect(cron.latest(at('2020-01-01T00:00Z'), at('2026-03-09T08:00Z'))).toBe(at('2026-03-09T08:00Z'))
    expect(cron.latest(at('2020-01-01T00:00Z'), at('2026-03-09T07:59Z'))).toBe(at('2026-03-02T08:00Z'))
  })

  it('is none where none lies between', () => {
    expect(cron.latest(at('2026-03-02T08:00Z'), at('2026-03-09T07:59Z'))).toBeNull()
  })
})

describe('whatever the expression and the zone', () => {
  const list = (low: number, high: number) =>
    fc.oneof(
      fc.constant('*'),
      fc.integer({ min: 1, max: 20 }).map(step => `*/${step}`),
      fc.uniqueArray(fc.integer({ min: low, max: high }), { minLength: 1, maxLength: 3 }).map(values => values.join()),
    )
  const expressions = fc
    .tuple(list(0, 59), list(0, 23), list(1, 28), list(1, 12), list(0, 6))
    .map(fields => fields.join(' '))
  const zones = fc.constantFrom('UTC', 'Europe/Amsterdam', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu')
  const instants = fc.integer({ min: Date.parse('2024-01-01'), max: Date.parse('2030-01-01') })

  it.each([
    ['0 0 28 2 */7', '2001-01-01', '2010-02-28'],
    ['0 0 29 2 */7', '2088-03-01', '2128-02-29'],
  ])('%s, a day of the month on a day of the week, is found however far away', (text, from, expected) => {
    expect(new Cron(text).next(Date.parse(from))).toBe(Date.parse(expected))
  })

  it('no tick lies between an instant and the next tick, seen from any instant between', () => {
    fc.assert(
      fc.property(
        expressions,
        zones,
        instants,
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (text, zone, from, part) => {
          const cron = new Cron(text, zone)
          const next = cron.next(from)
          if (next === null) return false
          const between = Math.floor(from + (next - from) * part)
          return next > from && (between >= next || cron.next(between) === next)
        },
      ),
      { numRuns: 60 },
    )
  })

  it('an expression with a star for the hour shows its minute on the wall at every tick', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 59 }), instants, (minute, from) => {
        const next = new Cron(`${minute} * * * *`, 'America/New_York').next(from) ?? 0
        return new Date(next).getUTCMinutes() === minute && next - from <= 3_600_000
      }),
      { numRuns: 60 },
    )
  })
})
