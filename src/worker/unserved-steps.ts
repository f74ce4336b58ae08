/**
 * Has executions say that nobody has their code, with an event, once each. What a long line holds is told a stretch at a time:
 * each look goes on where the one before has ended, and begins anew behind the last.
 */
import type { HousekeepingStore, LinePlace, WorkLine } from '../store/housekeeping-store.ts'

/** How many rows one look goes through, in all lines together. */
const mostRows = 100
/** How many of those that have said it are remembered, so that their workflows need not be asked again. */
const mostRemembered = 10_000

export class UnservedSteps {
  readonly #store: Pick<HousekeepingStore, 'readLine' | 'noteUnserved'>
  /** Where the next look at a line begins, of lines that were not gone through to their end. */
  readonly #places = new Map<string, LinePlace>()
  readonly #told = new Set<string>()
  #turn = 0

  constructor(store: Pick<HousekeepingStore, 'readLine' | 'noteUnserved'>) {
    this.#store = store
  }

  /** A bounded part of what waits there. Each look begins with another line, so that none is passed over for ever. */
  async tell(lines: readonly WorkLine[]): Promise<void> {
    if (lines.length === 0) return
    const first = this.#turn++ % lines.length
    let left = mostRows
    for (const line of [...lines.slice(first), ...lines.slice(0, first)]) {
      if (left === 0) return
      const key = keyOf(line)
      const { rows, next } = await this.#store.readLine(line, { from: this.#places.get(key) ?? null, limit: left })
      if (next === null) this.#places.delete(key)
      else this.#places.set(key, next)
      left -= rows.length
      const told = await this.#store.noteUnserved(rows.filter(row => !this.#told.has(row.executionId)))
      if (this.#told.size + told.size > mostRemembered) this.#told.clear()
      for (const id of told) this.#told.add(id)
    }
  }
}

function keyOf({ queue, handler }: WorkLine): string {
  return JSON.stringify([queue, handler])
}
