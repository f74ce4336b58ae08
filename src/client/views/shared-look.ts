/**
 * One look at the database for all who ask: however many dashboards are open, it is taken at most once a second, and less
 * often where it takes long. Who asks gets what is there, and waits only for the first.
 */

/** A look is not taken again before so many times as long as it took have passed: it never costs more than a twentieth. */
const restFactor = 20
const freshMs = 1000
/** So long somebody waits for a newer one where there is an old one. */
const patienceMs = 150
/** What is older than this is not shown any more. */
const staleMs = 60_000

export class SharedLook<Seen> {
  readonly #look: () => Promise<Seen>
  #seen: { readonly value: Seen; readonly at: number; readonly tookMs: number } | null = null
  #looking: Promise<Seen> | null = null
  #round = 0

  constructor(look: () => Promise<Seen>) {
    this.#look = look
  }

  async get(): Promise<Seen> {
    const now = performance.now()
    const seen = this.#seen
    if (seen !== null && now - seen.at < Math.max(freshMs, seen.tookMs * restFactor)) return seen.value
    this.#looking ??= this.#lookAgain()
    const looking = this.#looking
    if (seen === null || now - seen.at > staleMs) return looking
    return Promise.race([looking, after(patienceMs, seen.value)])
  }

  /** Something was changed here: the next one to ask sees it. */
  forget(): void {
    this.#round++
    this.#seen = null
    this.#looking = null
  }

  async #lookAgain(): Promise<Seen> {
    const begun = performance.now()
    const round = this.#round
    try {
      const value = await this.#look()
      const at = performance.now()
      // What was forgotten meanwhile was seen before the change.
      if (round === this.#round) this.#seen = { value, at, tookMs: at - begun }
      return value
    } finally {
      if (round === this.#round) this.#looking = null
    }
  }
}

function after<T>(ms: number, value: T): Promise<T> {
  return new Promise(resolve => setTimeout(() => resolve(value), ms).unref())
}
