/**
 * Fresh ids for a decision, reserved before it is made, because a decision is pure. How many it needs is only known
 * afterwards: one that runs out is made again with more.
 */
import { InvariantError } from '../errors.ts'
import type { Store } from '../store/store.ts'

export class IdPool {
  readonly ids: string[]
  #next = 0

  constructor(ids: readonly string[] = []) {
    this.ids = [...ids]
  }

  /** Gives out the same ids again, in the same order. */
  rewind(): void {
    this.#next = 0
  }

  take(): string {
    const id = this.ids[this.#next++]
    if (id === undefined) throw new OutOfIds(this)
    return id
  }
}

class OutOfIds extends Error {
  readonly pool: IdPool
  constructor(pool: IdPool) {
    super('A decision needs more ids.')
    this.pool = pool
  }
}

const maxRounds = 40

/** Runs `work` until its ids are enough. What it has begun before it ran out must have been undone. */
export async function withEnoughIds<T>(store: Store, work: () => Promise<T>): Promise<T> {
  for (let round = 0; round < maxRounds; round++) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof OutOfIds)) throw error
      const { ids } = error.pool
      ids.push(...(await store.takeIds(Math.min(Math.max(ids.length, 10) * 4, 10_000))))
    }
  }
  throw new InvariantError('A decision asked for more and more ids.')
}
