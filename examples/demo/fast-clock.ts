/**
 * A clock that can be moved on for all processes of the demo at once. Only the time at which steps fall due moves;
 * leases run on real time, because processes live and die in real time.
 */
import type { Geneva } from '../../src/index.ts'
import type { WorkerProcess } from './worker-process.ts'

type Store = Awaited<ReturnType<Geneva['openedStore']>>

export class FastClock {
  readonly #store: Store
  readonly #workers: readonly WorkerProcess[]
  #offsetMs = 0

  constructor(store: Store, workers: readonly WorkerProcess[]) {
    this.#store = store
    this.#workers = workers
  }

  /** The database's time, moved on. */
  async now(): Promise<Date> {
    return new Date((await this.#store.now()) / 1000)
  }

  async jumpTo(date: Date): Promise<void> {
    this.#offsetMs += date.getTime() - (await this.now()).getTime()
    this.#store.setClockOffset(this.#offsetMs)
    for (const worker of this.#workers) worker.setClock(this.#offsetMs)
  }
}
