/**
 * When a cron expression ticks, in a time zone. Only arithmetic: it never asks what time it is and starts no timer.
 *
 * Where the clocks are put forward, a tick at a time that does not exist comes at the moment of the change; where they are
 * put back, a tick comes the first time that the clocks show it. An expression with a star for the hour follows time as it
 * passes instead: it misses nothing and repeats nothing.
 */
import { InvalidArgumentError } from '../errors.ts'
import { type CronFields, parseCron } from './cron-fields.ts'
import { type DayOffsets, TimeZone } from './time-zone.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs
/** A 29 February on a certain day of the week may be forty years away, where a century is no leap year. */
const longestSearchDays = 40 * 366 + 1

export class Cron {
  readonly #fields: CronFields
  readonly #zone: TimeZone

  /** Throws `InvalidArgumentError` for what cannot be read, and for what never comes, like 30 February. */
  constructor(expression: string, timeZone = 'UTC') {
    this.#fields = parseCron(expression)
    this.#zone = new TimeZone(timeZone)
    if (this.next(Date.UTC(2000, 0, 1)) === null) {
      throw new InvalidArgumentError(`The cron expression ${JSON.stringify(expression)} names a day that never comes.`)
    }
  }

  /** The first tick after an instant, in milliseconds since 1970. `null` only where a date ends. */
  next(after: number): number | null {
    const local = after + this.#zone.offsetAt(after)
    // A change of the clocks can push a tick of the day before past its midnight.
    const first = Math.floor(local / dayMs) * dayMs - dayMs
    for (let day = 0; day < longestSearchDays; day++) {
      const midnight = first + day * dayMs
      if (!this.#isDay(midnight)) continue
      const tick = this.#nextOn(midnight, after)
      if (tick !== null) return tick
    }
    return null
  }

  /** The last tick up to an instant, and after another; `null` if there is none between. */
  latest(after: number, until: number): number | null {
    for (let span = hourMs; ; span *= 2) {
      const from = Math.max(after, until - span)
      let found: number | null = null
      for (let tick = this.next(from); tick !== null && tick <= until; tick = this.next(tick)) found = tick
      if (found !== null || from === after) return found
    }
  }

  #isDay(midnight: number): boolean {
    const { months, monthDays, lastMonthDay, weekDays, eitherDay } = this.#fields
    const date = new Date(midnight)
    if (!months.has(date.getUTCMonth() + 1)) return false
    const isLast = lastMonthDay && new Date(midnight + dayMs).getUTCDate() === 1
    const byMonth = monthDays.has(date.getUTCDate()) || isLast
    const byWeek = weekDays.has(date.getUTCDay())
    return eitherDay ? byMonth || byWeek : byMonth && byWeek
  }

  #nextOn(midnight: number, after: number): number | null {
    const offsets = this.#zone.offsetsAround(midnight)
    if (offsets.changedAt !== null) return this.#nextOnChange(midnight, offsets, after)
    const shown = after + offsets.before - midnight
    for (const hour of this.#fields.hours) {
      if ((hour + 1) * hourMs <= shown) continue
      const minute = this.#fields.minutes.find(each => hour * hourMs + each * minuteMs > shown)
      if (minute !== undefined) return midnight + hour * hourMs + minute * minuteMs - offsets.before
    }
    return null
  }

  /** On the few days around a change of the clocks every tick of the day is looked at. */
  #nextOnChange(midnight: number, offsets: DayOffsets, after: number): number | null {
    let earliest: number | null = null
    for (const hour of this.#fields.hours) {
      for (const minute of this.#fields.minutes) {
        const shown = midnight + hour * hourMs + minute * minuteMs
        for (const tick of this.#instantsOf(shown, offsets)) {
          if (tick > after && (earliest === null || tick < earliest)) earliest = tick
        }
      }
    }
    return earliest
  }

  /** The instants that count as this time of the clocks: one, or for any hour also none or both. */
  #instantsOf(shown: number, { before, after, changedAt }: DayOffsets): number[] {
    const change = changedAt ?? 0
    const instants = [shown - before, shown - after].filter((instant, index) => (index === 0) === instant < change)
    if (this.#fields.anyHour) return instants
    return [instants[0] ?? change]
  }
}
