/**
 * Acts on what it is told: at once if it has rested since it did so last, otherwise when it has, on all that it was told
 * meanwhile. The same word twice is one.
 */
import { pauseFor } from './pause-for.ts'

export class Gathering<Word> {
  readonly #act: (words: ReadonlySet<Word>) => number | Promise<number>
  readonly #closed = new AbortController()
  #told = new Set<Word>()
  #isBusy = false

  /** `act` answers how many milliseconds to rest. It does not fail. */
  constructor(act: (words: ReadonlySet<Word>) => number | Promise<number>) {
    this.#act = act
  }

  tell(word: Word): void {
    this.#told.add(word)
    if (!this.#isBusy) void this.#actOnAll()
  }

  /** Nothing is done any more about what it was told and is told. */
  close(): void {
    this.#closed.abort()
  }

  async #actOnAll(): Promise<void> {
    this.#isBusy = true
    while (this.#told.size > 0 && !this.#closed.signal.aborted) {
      const words = this.#told
      this.#told = new Set()
      await pauseFor(await this.#act(words), this.#closed.signal)
    }
    this.#isBusy = false
  }
}
