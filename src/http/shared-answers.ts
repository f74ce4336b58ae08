/**
 * While several people watch, the same question asked by all of them is looked up once: an answer is shared until something
 * has changed, and for no longer than a second. Whoever looks again after a hint of a change gets a new one.
 */

/** How many answers are kept. */
const mostKept = 200
const freshMs = 1000

export class SharedAnswers {
  #kept = new Map<string, { readonly answer: Promise<string>; readonly at: number }>()

  get(key: string, look: () => Promise<string>): Promise<string> {
    const known = this.#kept.get(key)
    if (known !== undefined && performance.now() - known.at < freshMs) return known.answer
    if (this.#kept.size >= mostKept) this.clear()
    const answer = look()
    const entry = { answer, at: performance.now() }
    const kept = this.#kept
    kept.set(key, entry)
    // What has failed is asked again by the next one.
    answer.catch(() => kept.get(key) === entry && kept.delete(key))
    return answer
  }

  /** Something has changed. A look that is under way may have missed it, so nobody joins it any more. */
  clear(): void {
    this.#kept = new Map()
  }
}
