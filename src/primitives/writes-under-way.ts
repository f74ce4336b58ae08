/** The writes that are under way: whether another may begin beside them, and what must not be written beside them. */
import type { Trouble } from './batch-group.ts'

export interface WriteLimits {
  /** How many writes may be under way at once, beside up to `mostLong` that take long. Default 2. */
  readonly mostWrites?: number
  /** So many of those that take long are not counted. Each may hold a connection, so there is an end to it. Default 3. */
  readonly mostLong?: number
}

interface Write {
  readonly trouble: Trouble
  readonly since: number
  readonly kins: readonly string[]
}

/** A write that is under way for so long may be waiting for something that only it needs. */
const longMs = 300

function isLong({ since }: Write, now: number): boolean {
  return now - since >= longMs
}

export class WritesUnderWay {
  readonly #mostWrites: number
  readonly #mostLong: number
  readonly #all = new Set<Write>()

  constructor({ mostWrites = 2, mostLong = 3 }: WriteLimits) {
    this.#mostWrites = mostWrites
    this.#mostLong = mostLong
  }

  begin(write: Write): void {
    this.#all.add(write)
  }

  end(write: Write): void {
    this.#all.delete(write)
  }

  /**
   * The one rule for whatever goes out. What was rejected before leaves a place to what was not, and what has rested another one to
   * parts that are likely to go through: however much there is of the one, the other is not kept waiting.
   */
  hasPlaceFor(trouble: Trouble, now: number): boolean {
    let long = 0
    let troubled = 0
    let rested = 0
    for (const write of this.#all) {
      if (isLong(write, now)) long++
      if (write.trouble > 0) troubled++
      if (write.trouble > 1) rested++
    }
    if (this.#all.size - Math.min(long, this.#mostLong) >= this.#mostWrites) return false
    const most = this.#mostWrites + this.#mostLong
    return (trouble < 1 || troubled < Math.max(1, most - 1)) && (trouble < 2 || rested < Math.max(1, most - 2))
  }

  /** Whether one is under way that will soon be through, as far as anybody can tell. */
  hasUntroubled(now: number): boolean {
    for (const write of this.#all) if (write.trouble === 0 && !isLong(write, now)) return true
    return false
  }

  /** Kins of what takes long or is made again: a write beside it would wait for the same. */
  heldKins(now: number): Set<string> {
    const held = new Set<string>()
    for (const write of this.#all) {
      if (write.trouble > 0 || isLong(write, now)) for (const kin of write.kins) held.add(kin)
    }
    return held
  }

  /** When the oldest that does not take long yet begins to. */
  nextLongAt(now: number): number {
    let at = Number.POSITIVE_INFINITY
    for (const write of this.#all) if (!isLong(write, now)) at = Math.min(at, write.since + longMs)
    return at
  }
}
