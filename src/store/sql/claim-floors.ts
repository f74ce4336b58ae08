/**
 * Where claims begin to look. Every row that is claimed leaves a dead entry at the head of its line, and as long as somebody
 * holds an old snapshot the database must keep them: a look from the beginning reads them all again. So a claim begins at the
 * smallest key of the one before, or as much earlier as a priority may be worth. What has come with a smaller key since (a row
 * that was given back, a start whose transaction took long) is found by looks from the beginning, which may take a tenth of the
 * time and come every two seconds at least, and by every claim that would find nothing.
 */
import type { ClaimedExecution } from '../records.ts'
import type { ClaimSource } from '../store.ts'

/** The part of the time that looks from the beginning may take. */
const share = 0.1
/** What is saved up of it at most, so that a worker with little to do always looks from the beginning. */
const savedMs = 1000
const longestMs = 2000
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

export type FloorOf = (source: ClaimSource) => number

export class ClaimFloors {
  readonly #floors = new Map<string, number>()
  readonly #clock: () => number
  /** When the last look from the beginning was over, and what was left of their time then. */
  #lookedAt: number
  #left = savedMs
  #tookMs = 0

  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock
    this.#lookedAt = clock()
  }

  async claim({ sources, margin }: Wanted, look: (floorOf: FloorOf) => Promise<Look>): Promise<ClaimedExecution[]> {
    if (this.#spares && sources.some(source => this.#floors.has(lineOf(source)))) {
      const found = await look(source => (this.#floors.get(lineOf(source)) ?? beginning + margin) - margin)
      this.#raise(sources, found)
      if (found.smallest !== null) return found.claimed
    }
    return this.#fromTheBeginning(sources, look)
  }

  /** Looks from the beginning have taken their part of the time, and the last one is not long ago. */
  get #spares(): boolean {
    const since = this.#clock() - this.#lookedAt
    return this.#tookMs > cheapMs && since < longestMs && this.#left + since * share <= 0
  }

  async #fromTheBeginning(
    sources: readonly ClaimSource[],
    look: (floorOf: FloorOf) => Promise<Look>,
  ): Promise<ClaimedExecution[]> {
    const begun = this.#clock()
    const saved = Math.min(this.#left + (begun - this.#lookedAt) * share, savedMs)
    const found = await look(() => beginning)
    this.#lookedAt = this.#clock()
    this.#tookMs = this.#lookedAt - begun
    // A single long look is paid off within the longest time that may pass between two.
    this.#left = Math.max(saved - this.#tookMs, -longestMs * share)
    for (const source of sources) if (found.smallest !== null) this.#floors.set(lineOf(source), found.smallest)
    return found.claimed
  }

  #raise(sources: readonly ClaimSource[], { smallest }: Look): void {
    if (smallest === null) return
    for (const source of sources) {
      const line = lineOf(source)
      this.#floors.set(line, Math.max(this.#floors.get(line) ?? smallest, smallest))
    }
  }
}

function lineOf({ queue, handler }: ClaimSource): string {
  return JSON.stringify([queue, handler])
}
