/**
 * What a schedule goes by: a cron expression in a time zone, or a steady interval. It is stored as text, so that whoever
 * has no code of the schedule can still tell its next tick. Instants are milliseconds since 1970.
 */
import { InvalidArgumentError } from '../errors.ts'
import { Cron } from './cron.ts'
import { type Duration, toMilliseconds } from './duration.ts'
import { latestMs } from './to-date.ts'

export type TimingNotation =
  | { readonly cron: string; readonly timeZone?: string; readonly every?: never }
  | { readonly every: Duration; readonly cron?: never; readonly timeZone?: never }

export class Timing {
  /** The same for the same timing: to store, and to tell whether it has changed. */
  readonly text: string
  readonly cron: string | null
  readonly timeZone: string | null
  readonly everyMs: number | null
  readonly #cron: Cron | null

  /** Throws `InvalidArgumentError` that names `what` for anything that does not tell when to tick. */
  constructor(notation: TimingNotation, what: string) {
    const { cron, timeZone, every } = notation
    if ((cron === undefined) === (every === undefined)) {
      throw new InvalidArgumentError(`${what} needs either \`cron\` or \`every\`.`)
    }
    if (every !== undefined) {
      if (timeZone !== undefined) throw new InvalidArgumentError(`${what}: an interval has no time zone.`)
      this.everyMs = toMilliseconds(every, `The interval of ${what}`)
      if (this.everyMs < 1) throw new InvalidArgumentError(`The interval of ${what} must be at least a millisecond.`)
    } else this.everyMs = null
    this.cron = cron ?? null
    this.timeZone = cron === undefined ? null : (timeZone ?? 'UTC')
    this.#cron = cron === undefined ? null : new Cron(cron, this.timeZone ?? 'UTC')
    this.text = JSON.stringify(this.#cron === null ? { every: this.everyMs } : { cron, timeZone: this.timeZone })
  }

  static fromText(text: string): Timing {
    return new Timing(JSON.parse(text) as TimingNotation, 'A stored schedule')
  }

  /** The first tick after an instant; nothing ticks later than can be kept. Intervals are counted from 1970, so that every process counts the same. */
  next(after: number): number {
    const next = this.#cron === null ? this.#multiple(after) + (this.everyMs ?? 0) : this.#cron.next(after)
    return Math.min(next ?? latestMs, latestMs)
  }

  /** The last tick up to an instant, and after another; `null` if there is none between. */
  latest(after: number, until: number): number | null {
    if (this.#cron !== null) return this.#cron.latest(after, until)
    const last = this.#multiple(until)
    return last > after ? last : null
  }

  #multiple(until: number): number {
    const every = this.everyMs ?? 1
    return Math.floor(until / every) * every
  }
}
