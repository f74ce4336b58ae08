/** Housekeeping on a SQL database: each verb in a file of its own, gathered here behind the interface. */
import type { HousekeepingStore, LinePlace, PruneCall, UnservedRow, WorkLine } from '../housekeeping-store.ts'
import type { SqlContext } from './context.ts'
import { findStuck, queueDepths, workerCounts } from './find-stuck.ts'
import { failureCounts, nodeTimes } from './measure-history.ts'
import { pruneFamilies } from './prune-families.ts'
import { noteUnserved, readLine } from './unserved-lines.ts'

export class SqlHousekeeping implements HousekeepingStore {
  readonly #context: SqlContext

  constructor(context: SqlContext) {
    this.#context = context
  }

  poolUse() {
    return this.#context.database.poolUse?.() ?? null
  }
  prune(call: PruneCall) {
    return pruneFamilies(this.#context, call)
  }
  findStuck(forMs: number, limit: number) {
    return findStuck(this.#context, forMs, limit)
  }
  readLine(line: WorkLine, stretch: { readonly from: LinePlace | null; readonly limit: number }) {
    return readLine(this.#context, line, stretch)
  }
  noteUnserved(rows: readonly UnservedRow[]) {
    return noteUnserved(this.#context, rows)
  }
  queueDepths() {
    return queueDepths(this.#context)
  }
  nodeTimes(since: number, limit: number) {
    return nodeTimes(this.#context, since, limit)
  }
  failureCounts(since: number, limit: number) {
    return failureCounts(this.#context, since, limit)
  }
  workerCounts() {
    return workerCounts(this.#context)
  }
}
