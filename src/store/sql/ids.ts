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

export class IdAllocator {
  readonly #context: SqlContext
  #free: number[] = []
  #reservedAt = 0

  constructor(context: SqlContext) {
    this.#context = context
  }

  /** Ids from a block that this process holds; what is left of it when the process ends is never used. */
  async take(count: number): Promise<string[]> {
    if (this.#context.keyType === 'uuid') return uuids(count)
    // The order of ids tells about when they were used as long as none is kept for long: see `views/id-bounds.ts`.
    if (performance.now() - this.#reservedAt > keptMs) this.#free = []
    while (this.#free.length < count) {
      const missing = Math.max(count - this.#free.length, idBlockSize)
      const ids = await runTransaction(this.#context.database, transaction =>
        reserve(this.#context, transaction, missing),
      )
      if (this.#free.length === 0) this.#reservedAt = performance.now()
      // Not spread: there may be more than a call takes arguments.
      this.#free = this.#free.concat(ids)
    }
    return this.#free.splice(0, count).map(String)
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
