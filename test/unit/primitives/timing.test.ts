/** What schedules go by, and that it survives being stored. */
import { describe, expect, it } from 'vitest'
import { Timing } from '../../../src/primitives/timing.ts'

describe('an interval', () => {
  const timing = new Timing({ every: '1 hour' }, 'it')

  it('falls on the hour, whoever counts and from when', () => {
    expect(timing.next(Date.UTC(2026, 0, 1, 5, 17))).toBe(Date.UTC(2026, 0, 1, 6))
    expect(timing.next(Date.UTC(2026, 0, 1, 6))).toBe(Date.UTC(2026, 0, 1, 7))
  })

  it('knows its latest tick between two instants', () => {
    expect(timing.latest(0, Date.UTC(2026, 0, 1, 5, 17))).toBe(Date.UTC(2026, 0, 1, 5))
    expect(timing.latest(Date.UTC(2026, 0, 1, 5), Date.UTC(2026, 0, 1, 5, 17))).toBeNull()
  })

  it('must be longer than nothing', () => {
    expect(() => new Timing({ every: 0 }, 'schedule x')).toThrow('The interval of schedule x must be at least')
  })
})

it('comes back from its text as it was', () => {
  const cron = new Timing({ cron: '0 9 * * 1-5', timeZone: 'Europe/Amsterdam' }, 'it')
  expect(Timing.fromText(cron.text)).toMatchObject({ cron: '0 9 * * 1-5', timeZone: 'Europe/Amsterdam', everyMs: null })
  expect(Timing.fromText(cron.text).text).toBe(cron.text)
  expect(Timing.fromText(new Timing({ every: '90s' }, 'it').text).everyMs).toBe(90_000)
})

it('is UTC where no zone is named, not what the host has', () => {
  expect(new Timing({ cron: '0 9 * * *' }, 'it').timeZone).toBe('UTC')
})

it('is a cron expression or an interval, not both and not neither', () => {
  const never = {} as { every: number }
  expect(() => new Timing(never, 'schedule x')).toThrow('schedule x needs either `cron` or `every`')
  const both = { cron: '* * * * *', every: 5 } as unknown as { every: number }
  expect(() => new Timing(both, 'schedule x')).toThrow('needs either')
  const zoned = { every: 5, timeZone: 'UTC' } as unknown as { every: number }
  expect(() => new Timing(zoned, 'schedule x')).toThrow('an interval has no time zone')
})
