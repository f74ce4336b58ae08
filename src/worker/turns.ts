/**
 * Whose turn it is to be waited for, of the workflows that were passed over because somebody had them locked. What is locked for long keeps no
 * other from its turn: who has waited in vain comes after those who have not.
 */

/** So many turns may come to nothing, with a moment of waiting each; then it goes on at the next look. */
const mostInVain = 2

export class Turns {
  /** How often each has waited in vain. */
  #passed: ReadonlyMap<string, number> = new Map()

  /** What the last look has passed over. Whatever is not among it has been done, and is forgotten. */
  note(passed: Iterable<string>): void {
    this.#passed = new Map([...passed].map(id => [id, this.#passed.get(id) ?? 0]))
  }

  /**
   * One after the other; `take` answers false when it has waited in vain. Among equals it goes by lot, because whoever begins anew with every
   * look, as `runDue` does, knows nothing of the last one.
   */
  async takeEach(take: (workflowId: string) => Promise<boolean>, stop?: AbortSignal): Promise<void> {
    const turns = [...this.#passed].map(([id, times]) => ({ id, times, lot: Math.random() }))
    turns.sort((one, other) => one.times - other.times || one.lot - other.lot)
    let inVain = 0
    for (const { id } of turns) {
      if (stop?.aborted || inVain === mostInVain) return
      if (await take(id)) continue
      inVain++
      this.#passed = new Map(this.#passed).set(id, (this.#passed.get(id) ?? 0) + 1)
    }
  }
}
