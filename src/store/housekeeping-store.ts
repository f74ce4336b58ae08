/**
 * What keeping a database in order asks for: removing what has ended long ago, and telling what stands still, what is slow
 * and what waits. Times are microseconds of the database's clock.
 */
import type { QueuePause } from './limit-store.ts'
import type { EndedWorkflowState } from './records.ts'

/** How long workflows are kept after they have ended, in milliseconds, by state. Others are kept for ever. */
export type RetentionAges = ReadonlyMap<EndedWorkflowState, number>

export interface PruneCall {
  readonly ages: RetentionAges
  /** Where the call before has come to; `null`: from the beginning. */
  readonly cursor: string | null
  /** No more workflows than this, but at least one family. */
  readonly limit: number
  /** Count only. */
  readonly dryRun: boolean
}

export interface PruneStep {
  readonly pruned: number
  /** Where to go on; `null` when nothing is left that could be old enough. */
  readonly cursor: string | null
}

export type StuckKind = 'no_worker' | 'not_claimed' | 'queue_paused' | 'lease_lost' | 'paused' | 'dlq'

export interface StuckRow {
  readonly kind: StuckKind
  readonly workflowId: string
  readonly type: string
  readonly node: string | null
  readonly queue: string | null
  readonly handler: string | null
  readonly owner: string | null
  readonly since: number
  /** The pause of its queue, for `queue_paused`. */
  readonly pause: QueuePause | null
}

/** Rows that one code can run, in one queue. */
export interface WorkLine {
  readonly queue: string
  readonly handler: string
}

/** Where a look at a line goes on. */
export interface LinePlace {
  readonly lane: string
  /** `null`: from the first on. */
  readonly key: number | null
  /** How many rows of that very key have been gone through. */
  readonly skip: number
}

export interface UnservedRow {
  readonly workflowId: string
  readonly slot: string
  readonly executionId: string
}

export interface LineStretch {
  readonly rows: readonly UnservedRow[]
  /** `null`: that was the end of the line. */
  readonly next: LinePlace | null
}

export interface QueueDepth {
  readonly queue: string
  readonly handler: string
  /** Executions that are due and that nobody has claimed. */
  readonly due: number
  readonly oldestDueAt: number
}

export interface NodeTimes {
  readonly type: string
  readonly node: string
  readonly count: number
  readonly failed: number
  /** From start to end, in microseconds. */
  readonly took: Percentiles
  /** From due to start, in microseconds. */
  readonly waited: Percentiles
}

export interface Percentiles {
  readonly p50: number
  readonly p95: number
  readonly p99: number
  readonly max: number
  readonly total: number
}

export interface FailureCount {
  readonly type: string
  readonly node: string
  readonly outcome: string
  readonly errorClass: string | null
  readonly count: number
}

/** What a process does with the connections that it may have. */
export interface PoolUse {
  readonly used: number
  /** How many ask for a connection and have none yet. */
  readonly waiting: number
  readonly limit: number
}

export interface HousekeepingStore {
  /** `null` for a database without a pool of connections. */
  poolUse(): PoolUse | null
  /** Removes a page of what has ended, families whole, in small transactions. Rows that somebody holds are left for later. */
  prune(call: PruneCall): Promise<PruneStep>
  /** What has not moved for so long, oldest first, up to `limit` of each kind. */
  findStuck(forMs: number, limit: number): Promise<{ readonly now: number; readonly rows: readonly StuckRow[] }>
  /** Due rows of a line from a place on, in order. */
  readLine(line: WorkLine, stretch: { readonly from: LinePlace | null; readonly limit: number }): Promise<LineStretch>
  /**
   * Has executions say that nobody has their code: those that still wait and have not said so yet, whichever process asks.
   * Answers which have said it by now; what others hold is left for later.
   */
  noteUnserved(rows: readonly UnservedRow[]): Promise<ReadonlySet<string>>
  queueDepths(): Promise<readonly QueueDepth[]>
  /** Of executions that ended since then: the newest `limit` of them. */
  nodeTimes(since: number, limit: number): Promise<readonly NodeTimes[]>
  failureCounts(since: number, limit: number): Promise<readonly FailureCount[]>
  /** How many workers hold a lease, and how many have lost it without anybody noticing yet. */
  workerCounts(): Promise<{ readonly alive: number; readonly lapsed: number }>
}
