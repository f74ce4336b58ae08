/**
 * The clock of the database, for whoever can do with a time that is a little off: asked once in a while, and told by the clock of
 * this process in between.
 */
import type { SqlContext } from './context.ts'
import { int } from './decode.ts'
import { sql } from './sql.ts'

/** In microseconds, with the offset of the test clock. */
export async function databaseTime(context: SqlContext): Promise<number> {
  const rows = await context.read(sql`select ${context.now} as now`)
  return rows[0] ? int(rows[0], 'now') : 0
}

/** The two clocks drift apart by less than a millisecond until then. */
const keptMs = 10_000

export class KnownTime {
  readonly #context: SqlContext
  #asked: { readonly atMs: number; readonly time: number } | null = null

  constructor(context: SqlContext) {
    this.#context = context
  }

  async now(): Promise<number> {
    const asked = this.#asked
    const atMs = performance.now()
    if (asked !== null && atMs - asked.atMs < keptMs) {
      return asked.time + Math.round((atMs - asked.atMs) * 1000) + this.#context.clockOffset
    }
    const time = await databaseTime(this.#context)
    this.#asked = { atMs: performance.now(), time: time - this.#context.clockOffset }
    return time
  }
}
