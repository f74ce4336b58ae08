/**
 * Lets so many in at once; the rest waits outside, in the order of arrival. Keeps code of the application that holds
 * connections for long from taking all of a pool.
 */
export class Turnstile {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(places: number) {
    this.#free = Math.max(1, places)
  }

  async through<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--
    else await new Promise<void>(resolve => this.#waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#free++
    }
  }
}

/** Connections of a pool that are never lent to code of the application: claims, reports and heartbeats need them. */
export const keptConnections = 3
