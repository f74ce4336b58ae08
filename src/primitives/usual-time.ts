/** How long something takes that is done again and again. */
export class UsualTime {
  #lastMs = 0
  #ms = 0

  /** The shorter of the last two times: a single long one may have waited for a lock, or for a server that was busy or away. */
  get ms(): number {
    return this.#ms
  }

  took(ms: number): void {
    this.#ms = Math.min(ms, this.#lastMs)
    this.#lastMs = ms
  }
}
