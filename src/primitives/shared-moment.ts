/**
 * A moment that several threads of a process can read and move forward, by a clock that all of them read alike. It never moves
 * back, so a late note of something that happened earlier does no harm.
 */

/** Milliseconds since some moment that is the same for all threads of the process. Not the time of day. */
export function processNow(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

export class SharedMoment {
  /** To be handed to another thread, which makes its own view of it. */
  readonly memory: SharedArrayBuffer
  readonly #cell: BigInt64Array

  constructor(memory: SharedArrayBuffer = new SharedArrayBuffer(8)) {
    this.memory = memory
    this.#cell = new BigInt64Array(memory)
  }

  /** In milliseconds, as `processNow` tells them. */
  get at(): number {
    return Number(Atomics.load(this.#cell, 0)) / 1000
  }

  moveTo(at: number): void {
    const wanted = BigInt(Math.floor(at * 1000))
    let seen = Atomics.load(this.#cell, 0)
    while (seen < wanted) {
      const found = Atomics.compareExchange(this.#cell, 0, seen, wanted)
      if (found === seen) return
      seen = found
    }
  }
}
