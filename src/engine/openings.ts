/**
 * Room in the workers of this process: whoever starts a workflow here may let its first step begin at once, so that nobody
 * has to look for it. A worker offers no room while others wait in line.
 */
import type { ClaimedExecution } from '../store/records.ts'

/** A place that is kept in a worker. It is either begun in or given up. */
export interface Opening {
  readonly workerId: string
  /** That of the limits which the worker goes by. */
  readonly revision: number
  begin(claimed: ClaimedExecution): void
  giveUp(): void
}

export interface Opener {
  /** `null` when there is no room, or others come first. */
  keepPlace(queue: string, handler: string): Opening | null
  /** Whether a step of the workflow is running there. */
  runs(workflowId: string): boolean
}

export class Openings {
  readonly #openers = new Set<Opener>()

  add(opener: Opener): () => void {
    this.#openers.add(opener)
    return () => this.#openers.delete(opener)
  }

  /** Whether a worker of this process is at it, so that its end is likely to be heard of here. */
  runs(workflowId: string): boolean {
    for (const opener of this.#openers) if (opener.runs(workflowId)) return true
    return false
  }

  /** For each row a place in one and the same worker, or none. */
  keepPlaces(rows: readonly ({ readonly queue: string; readonly handler: string } | null)[]): (Opening | null)[] {
    for (const opener of this.#openers) {
      const places = rows.map(row => (row === null ? null : opener.keepPlace(row.queue, row.handler)))
      if (places.some(place => place !== null)) return places
    }
    return rows.map(() => null)
  }
}
