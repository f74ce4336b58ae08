/**
 * The clocks on the walls of a time zone: how far they are from UTC at an instant, and when they are put forward or back.
 * It knows nothing of the time that it is now.
 */
import { InvalidArgumentError } from '../errors.ts'

const hourMs = 3_600_000
/** No place on earth is further from UTC than 14 hours; a spare hour does no harm. */
const furthestMs = 15 * hourMs
const dayMs = 24 * hourMs

/** The offsets that count around a day: one for most days, two where the clocks are changed. */
export interface DayOffsets {
  readonly before: number
  readonly after: number
  /** The instant of the change; `null` where there is none. */
  readonly changedAt: number | null
}

export class TimeZone {
  readonly name: string
  readonly #format: Intl.DateTimeFormat

  /** Throws `InvalidArgumentError` for a name that the runtime does not know. */
  constructor(name: string) {
    this.name = name
    try {
      this.#format = new Intl.DateTimeFormat('en-US', {
        timeZone: name,
        hourCycle: 'h23',
        year: 'numeric',
        month: 'numeric',
        day: 'numeric',
        hour: 'numeric',
        minute: 'numeric',
        second: 'numeric',
      })
    } catch {
      throw new InvalidArgumentError(
        `The time zone ${JSON.stringify(name)} is not known. Use a name like 'Europe/Amsterdam' or 'UTC'.`,
      )
    }
  }

  /** What is to be added to an instant to get what the clocks show, written as if it were UTC. */
  offsetAt(instant: number): number {
    if (this.name === 'UTC') return 0
    const shown = new Map(this.#format.formatToParts(instant).map(part => [part.type, Number(part.value)]))
    const part = (name: Intl.DateTimeFormatPartTypes) => shown.get(name) ?? 0
    const local = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'))
    return local - Math.floor(instant / 1000) * 1000
  }

  /** For the day whose midnight the clocks call `midnight`, written as if it were UTC. */
  offsetsAround(midnight: number): DayOffsets {
    let low = midnight - furthestMs
    let high = midnight + dayMs + furthestMs
    const before = this.offsetAt(low)
    const after = this.offsetAt(high)
    if (before === after) return { before, after, changedAt: null }
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2)
      if (this.offsetAt(middle) === before) low = middle
      else high = middle
    }
    return { before, after, changedAt: high }
  }
}
