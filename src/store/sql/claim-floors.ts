/**
 * Where claims begin to look. Every row that is claimed leaves a dead entry at the head of its line, and as long as somebody
 * holds an old snapshot the database must keep them: a look from the beginning reads them all again. So a claim begins at the
 * smallest key of the one before, or as much earlier as a priority may be worth. What has come with a smaller key since (a row
 * that was given back, a start whose transaction took long) is found by looks from the beginning, which may take a fiftieth of
 * the time, so that one of 100 ms comes every five seconds, and by every claim that would find nothing.
 */
import { UsualTime } from '../../primitives/usual-time.ts'
import type { ClaimedExecution } from '../records.ts'
import type { ClaimSource } from '../store.ts'

/** The part of the time that looks from the beginning may take. */
const share = 0.02
/** What is saved up of it at most, so that a worker with little to do always looks from the beginning. */
const savedMs = 1000
/** However long they take, they come so often. */
const longestMs = 30_000
/** A look that takes no longer is not worth sparing. */
const cheapMs = 10

/** No row has a smaller key. */
export const beginning = Number.MIN_SAFE_INTEGER

export interface Look {
  readonly claimed: ClaimedExecution[]
  /** The smallest sort key among the rows that were found; `null` when there were none. */
  readonly smallest: number | null
}

/** What is looked for. */
export interface Wanted {
  readonly sources: readonly ClaimSource[]
  /** By how much the key of a row may be smaller than those that came before it. */
  readonly margin: number
}

/** The same lines are asked for again and again, so there are few sets of them; a plan that changes may leave some behind. */
const mostSets = 100

export class ClaimFloors {
  readonly #sets = new Map<string, Floor>()
  readonly #clock: () => number

  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock
  }

  claim({ sources, margin }: Wanted, look: (floor: number) => Promise<Look>): Promise<ClaimedExecution[]> {
    const key = JSON.stringify(sources.map(({ queue, handler }) => [queue, handler]))
    let floor = this.#sets.get(key)
    if (floor === undefined) {
      if (this.#sets.size >= mostSets) this.#sets.clear()
      floor = new Floor(this.#clock)
      this.#sets.set(key, floor)
    }
    return floor.claim(margin, look)
  }
}

/** Where claims from one set of lines begin. */
class Floor {
  readonly #clock: () => number
  /** When the last look from the beginning was over, how long such looks take, and what was left of the time for them then. */
  #lookedAt: number
  readonly #usual = new UsualTime()
  #left = savedMs
  #floor = beginning

  constructor(clock: () => number) {
    this.#clock = clock
    this.#lookedAt = clock()
  }

  async claim(margin: number, look: (floor: number) => Promise<Look>): Promise<ClaimedExecution[]> {
    if (this.#spares) {
      const found = await look(this.#floor - margin)
      if (found.smallest !== null) {
        this.#floor = Math.max(this.#floor, found.smallest)
        return found.claimed
      }
    }
    return this.#fromTheBeginning(look)
  }

  /** Looks from the beginning have taken their part of the time, and the last one is not long ago. */
  get #spares(): boolean {
    const since = this.#clock() - this.#lookedAt
    const isDear = this.#floor !== beginning && this.#usual.ms > cheapMs
    return isDear && since < longestMs && this.#left + since * share <= 0
  }

  async #fromTheBeginning(look: (floor: number) => Promise<Look>): Promise<ClaimedExecution[]> {
    const begun = this.#clock()
    const saved = Math.min(this.#left + (begun - this.#lookedAt) * share, savedMs)
    const found = await look(beginning)
    this.#lookedAt = this.#clock()
    this.#usual.took(this.#lookedAt - begun)
    // However long it was, it is paid off within the longest time that may pass between two.
    this.#left = Math.max(saved - this.#usual.ms, -longestMs * share)
    if (found.smallest !== null) this.#floor = found.smallest
    return found.claimed
  }
}
