/** What `retryAfterMs` makes of the words of a service: an exact wait, a day at most, or nothing. */
import { describe, expect, test } from 'vitest'
import { longestRetryAfterMs, retryAfterMs } from '../../../src/primitives/retry-after.ts'

const now = Date.UTC(1994, 10, 6, 8, 49, 0)

describe('understood is', () => {
  test.each([
    [0, 0],
    [1_500, 1_500],
    [0.2, 1],
    ['5 min', 300_000],
    [{ minutes: 2 }, 120_000],
    ['0', 0],
    ['120', 120_000],
    [' 120 ', 120_000],
    ['0.5', 500],
  ])('%j as %d ms', (value, ms) => {
    expect(retryAfterMs(value, now)).toBe(ms)
  })

  test.each(['Sun, 06 Nov 1994 08:49:37 GMT', 'Sunday, 06-Nov-94 08:49:37 GMT', 'Sun Nov  6 08:49:37 1994'])(
    'the date %s, whatever the time zone of the process',
    date => {
      const zone = process.env.TZ
      try {
        for (const elsewhere of ['America/New_York', 'Asia/Tokyo']) {
          process.env.TZ = elsewhere
          expect(retryAfterMs(date, now)).toBe(37_000)
        }
      } finally {
        if (zone === undefined) delete process.env.TZ
        else process.env.TZ = zone
      }
    },
  )

  test('the present moment, as no wait at all', () => {
    expect(retryAfterMs('Sun, 06 Nov 1994 08:49:00 GMT', now)).toBe(0)
  })

  test.each([longestRetryAfterMs + 1, 1e300, '86401', '9'.repeat(400), '2 days', 'Sun, 06 Nov 2094 08:49:37 GMT'])(
    '%s as a day, because it is more',
    value => {
      expect(retryAfterMs(value, now)).toBe(24 * 60 * 60 * 1_000)
    },
  )
})

describe('not understood is', () => {
  test.each([
    undefined,
    null,
    true,
    -1,
    '-1',
    Number.NaN,
    Number.POSITIVE_INFINITY,
    '',
    'soon',
    '1e3',
    '0x10',
    'May 5',
    '1994-11-06',
    'Sun, 06 Nov 1994 08:48:59 GMT',
    'Sun, 06 Foo 1994 08:49:37 GMT',
    'Sun, 06 Nov 1994 08:49:37',
    {},
    { seconds: -1 },
    [120],
  ])('%j', value => {
    expect(retryAfterMs(value, now)).toBeNull()
  })
})
