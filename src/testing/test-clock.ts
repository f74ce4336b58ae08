/**
 * The clock by which things fall due, as the test moves it. It goes on running from wherever it was put. Leases and
 * the time inside steps (`Date.now()`) are real time and stay untouched.
 */
import { types } from 'node:util'
import { InvalidArgumentError } from '../errors.ts'
import { isKeepable } from '../primitives/to-date.ts'
import type { Store } from '../store/store.ts'

export class TestClock {
  readonly #store: Store
  #offsetMs = 0

  constructor(store: Store) {
    this.#store = store
  }

  async now(): Promise<Date> {
    return new Date(Math.floor((await this.#store.now()) / 1000))
  }

  async moveBy(ms: number): Promise<Date> {
    const reached = (await this.now()).getTime() + ms
    if (!isKeepable(reached)) {
      throw new InvalidArgumentError('The clock of a test must stay between the years 1697 and 2243.')
    }
    this.#offsetMs += ms
    this.#store.setClockOffset(this.#offsetMs)
    return this.now()
  }

  async moveTo(time: Date): Promise<Date> {
    const ms = types.isDate(time) ? time.getTime() : Number.NaN
    if (Number.isNaN(ms)) throw new InvalidArgumentError('The time to set the clock to must be a valid Date.')
    return this.moveBy(Math.ceil(ms - (await this.#store.now()) / 1000))
  }

  /** Goes forward to a time of the database, in microseconds. False when it has come already. */
  async reach(micros: number): Promise<boolean> {
    const missing = micros - (await this.#store.now())
    if (missing > 0) await this.moveBy(Math.ceil(missing / 1000))
    return missing > 0
  }
}
