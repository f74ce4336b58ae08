/**
 * The one source of ids for workflows and executions. Numbers come in blocks from a counter that never gives one
 * twice; uuids are made here and need no database.
 */
import { uuidV7 } from '../../primitives/uuid-v7.ts'
import type { SqlContext } from './context.ts'
import { type Executor, idBlockSize } from './dialect.ts'
import { runTransaction } from './run-transaction.ts'

/** So long a block is used. */
const keptMs = 600_000

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const number = /^[1-9][0-9]{0,15}$/

/** Refuses what cannot be an id, so that no statement has to. */
export function isId(context: SqlContext, id: unknown): boolean {
  if (typeof id !== 'string') return false
  return context.keyType === 'uuid' ? uuid.test(id) : number.test(id) && Number.isSafeInteger(Number(id))
}

/** What was reserved and used up sooner than that was too little. */
const shortMs = 1000
/** How many are reserved at once at most, unless more are asked for at once. */
const mostReserved = 5000

export class IdAllocator {
  readonly #context: SqlContext
  #free: readonly number[] = []
  /** Those before it are used. */
  #next = 0
  #reservedAt = 0
  #reserved = 0
  #filling: Promise<void> | null = null

  constructor(context: SqlContext) {
    this.#context = context
  }

  /** Ids from a block that this process holds; what is left of it when the process ends is never used. */
  async take(count: number): Promise<string[]> {
    if (this.#context.keyType === 'uuid') return uuids(count)
    // The order of ids tells about when they were used as long as none is kept for long: see `views/id-bounds.ts`.
    if (performance.now() - this.#reservedAt > keptMs) this.#free = []
    while (this.#free.length - this.#next < count) {
      this.#filling ??= this.#fill(count).finally(() => {
        this.#filling = null
      })
      await this.#filling
    }
    const taken = this.#free.slice(this.#next, this.#next + count)
    this.#next += count
    return taken.map(String)
  }

  /** One at a time, for all who wait. The faster they are used, the more are reserved. */
  async #fill(count: number): Promise<void> {
    const begun = performance.now()
    const often = begun - this.#reservedAt < shortMs ? Math.min(this.#reserved * 2, mostReserved) : 0
    const wanted = Math.max(count, often, idBlockSize)
    const ids = await runTransaction(this.#context.database, transaction => reserve(this.#context, transaction, wanted))
    const left = this.#free.slice(this.#next)
    if (left.length === 0) this.#reservedAt = begun
    this.#free = left.concat(ids)
    this.#next = 0
    this.#reserved = wanted
  }

  /** Ids reserved inside the caller's transaction. What is left over is not kept: the transaction may be undone. */
  async takeInside(executor: Executor, count: number): Promise<string[]> {
    if (this.#context.keyType === 'uuid') return uuids(count)
    return (await reserve(this.#context, executor, count)).slice(0, count).map(String)
  }
}

function uuids(count: number): string[] {
  return Array.from({ length: count }, () => uuidV7())
}

async function reserve(context: SqlContext, executor: Executor, count: number): Promise<number[]> {
  const blocks = await context.dialect.allocateBlocks(executor, context.tables.ids, Math.ceil(count / idBlockSize))
  return blocks.flatMap(block => Array.from({ length: idBlockSize }, (_, offset) => block * idBlockSize + offset))
}
