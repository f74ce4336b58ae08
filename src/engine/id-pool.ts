/**
 * Fresh ids for a decision, reserved before it is made, because a decision is pure. How many it needs is only known
 * afterwards: one that runs out is made again with more.
 */
import { InvariantError } from '../errors.ts'
import { someCause } from '../primitives/some-cause.ts'
import type { Store } from '../store/store.ts'

/** Ids that are at hand without asking the database. What one decision leaves over, the next one takes. */
export class IdReserve {
  readonly #store: Pick<Store, 'takeIds'>
  #ids: readonly string[] = []
  #taken = 0

  constructor(store: Pick<Store, 'takeIds'>) {
    this.#store = store
  }

  /** Twice as many are fetched, so that not every decision has to ask. */
  async ensure(count: number): Promise<void> {
    const free = this.#ids.length - this.#taken
    if (free >= count) return
    const more = await this.#store.takeIds(count * 2 - free)
    // Not spread: there may be more than a call takes arguments.
    this.#ids = this.#ids.slice(this.#taken).concat(more)
    this.#taken = 0
  }

  /** In rising order, so that what a decision inserts first comes first where nothing else tells rows apart. */
  take(): string | null {
    const id = this.#ids[this.#taken] ?? null
    if (id !== null) this.#taken++
    return id
  }
}

const nothing: readonly never[] = []

/** The ids of one decision. They stay the same however often it is made, and when it is made again after a lost answer. */
export class IdPool {
  readonly ids: string[] = []
  readonly #reserve: IdReserve
  #next = 0

  constructor(reserve: IdReserve) {
    this.#reserve = reserve
  }

  /** Gives out the same ids again, in the same order. */
  rewind(): void {
    this.#next = 0
  }

  /** Makes sure of so many, so that none has to be fetched while the decision is made. */
  async fill(count: number): Promise<void> {
    while (this.ids.length < count) {
      const id = this.#reserve.take()
      if (id === null) await this.#reserve.ensure(count - this.ids.length)
      else this.ids.push(id)
    }
  }

  /** What the decision has begun at once when it was last made, so that a claim by that is told from one that came later. */
  begun: readonly { readonly id: string; readonly fence: number }[] = nothing

  /** It has run out, and was made again. */
  ranOut = false

  take(): string {
    const id = this.ids[this.#next] ?? this.#reserve.take()
    if (id === null) {
      this.ranOut = true
      throw new OutOfIds(this)
    }
    this.ids[this.#next++] = id
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

export function isOutOfIds(error: unknown): boolean {
  return someCause(error, cause => cause instanceof OutOfIds)
}

const maxRounds = 40

/** Runs `work` until its ids are enough. What it has begun before it ran out must have been undone. */
export async function withEnoughIds<T>(reserve: IdReserve, work: () => Promise<T>): Promise<T> {
  for (let round = 0; round < maxRounds; round++) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof OutOfIds)) throw error
      await reserve.ensure(Math.min(Math.max(error.pool.ids.length, 10) * 4, 10_000))
    }
  }
  throw new InvariantError('A decision asked for more and more ids.')
}
