/**
 * What reads of events have learned about numbers that were missing, by the position at which they stopped. Whoever asks for a
 * page has only that position, and without this each page would begin to wait anew. What is forgotten is learned again.
 */
import type { EventPage, GapMemory } from '../../store/event-store.ts'

/** More than this many readers at different positions are hardly there at once. */
const maxPositions = 100

export class GapMemories {
  readonly #byPosition = new Map<number, GapMemory>()

  at(position: number): GapMemory | null {
    return this.#byPosition.get(position) ?? null
  }

  /** What was used stays: others may stand at the same position, and what it says stays true. */
  keep({ position, memory }: Pick<EventPage, 'position' | 'memory'>): void {
    if (memory === null) return
    this.#byPosition.delete(position)
    this.#byPosition.set(position, memory)
    const [oldest] = this.#byPosition.keys()
    if (oldest !== undefined && this.#byPosition.size > maxPositions) this.#byPosition.delete(oldest)
  }
}
