/**
 * Removes what has ended long ago, a little at a time, beside everything else that a worker does. Several workers may do
 * so at once: what one holds the others leave alone.
 */
import { jittered } from '../primitives/pause-for.ts'
import type { RetentionAges } from '../store/housekeeping-store.ts'
import type { Store } from '../store/store.ts'

/** How long to rest once everything was looked at: as long as the shortest age, within these bounds. */
const shortestRestMs = 1000
const longestRestMs = 60_000
const pagesPerRound = 5
const limitPerPage = 200

export class Pruner {
  readonly #store: Store
  readonly #ages: RetentionAges
  #cursor: string | null = null
  #restUntil = 0

  constructor(store: Store, ages: RetentionAges) {
    this.#store = store
    this.#ages = ages
  }

  /** A few pages; the next call goes on from there. */
  async round(): Promise<void> {
    if (this.#ages.size === 0 || performance.now() < this.#restUntil) return
    for (let page = 0; page < pagesPerRound; page++) {
      const call = { ages: this.#ages, cursor: this.#cursor, limit: limitPerPage, dryRun: false }
      this.#cursor = (await this.#store.housekeeping.prune(call)).cursor
      if (this.#cursor !== null) continue
      this.#restUntil = performance.now() + jittered(this.#restMs(), 0.5)
      return
    }
  }

  #restMs(): number {
    return Math.min(longestRestMs, Math.max(shortestRestMs, Math.min(...this.#ages.values())))
  }
}
