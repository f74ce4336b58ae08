/**
 * Jobs that stored graphs name and that no live worker has. After a while a worker claims their nodes all the same, to let
 * them fail with a reason: otherwise nobody would learn why the workflow stands still.
 */
import type { ClaimSource, Store } from '../store/store.ts'

/** What the handlers of jobs begin with. */
const jobPrefix = 'job:'

export class MissingJobs {
  readonly #store: Store
  readonly #patienceMs: number
  /** When each was first found without a worker. */
  #since: ReadonlyMap<string, number> = new Map()

  constructor(store: Store, patienceMs: number) {
    this.#store = store
    this.#patienceMs = patienceMs
  }

  /** Sources whose nodes have waited long enough for somebody who has their job. */
  async givenUp(now: number): Promise<ClaimSource[]> {
    const unserved = await this.#store.findUnserved(jobPrefix)
    this.#since = new Map(unserved.map(({ handler }) => [handler, this.#since.get(handler) ?? now]))
    return unserved
      .filter(({ handler }) => now - (this.#since.get(handler) ?? now) >= this.#patienceMs)
      .map(source => ({ ...source, generation: Number.MAX_SAFE_INTEGER }))
  }
}
