/**
 * Limits and pauses of queues and classes: how many executions may run at once, how many may begin in a stretch of time, for
 * a queue, a class or each key of a class. They are rows, so that every process goes by the same; whoever changes one raises
 * the revision, by which workers notice.
 */
import type { AskedBy } from './request-store.ts'
import type { StartLog } from './start-log.ts'

export interface StoredLimits {
  /** Most executions that run at once. */
  readonly concurrency: number | null
  /** Most executions that begin in any stretch of that length. */
  readonly rate: { readonly limit: number; readonly perMs: number } | null
}

export interface LimitKey {
  readonly scope: 'queue' | 'class'
  readonly name: string
}

/** What code says about a queue or a class. It takes effect when it differs from what code has said before. */
export interface LimitDeclaration extends LimitKey {
  readonly limits: StoredLimits
  /** For each key of a class; `null`: it has none. */
  readonly perKey: StoredLimits | null
}

export interface LimitRecord extends LimitKey {
  readonly limits: StoredLimits
  readonly perKey: StoredLimits
  /** Rows of the class may stand in lanes, because it has, or has had, limits per key. */
  readonly hasLanes: boolean
  readonly paused: QueuePause | null
}

export interface QueuePause {
  readonly by: string | null
  readonly reason: string | null
  readonly at: number
}

/** A limit with what has begun under it; `lane` is set where that is told of one key of a class. */
export interface LimitStanding extends LimitRecord {
  readonly lane: string
  readonly starts: StartLog
}

/** An execution that runs and takes a place under a limit. */
export interface PlaceHolder {
  readonly workflowId: string
  readonly node: string
  readonly queue: string
  readonly handler: string
  readonly lane: string
  readonly owner: string
  readonly startedAt: number | null
}

export interface LimitRules {
  /** Rises with every change. */
  readonly revision: number
  readonly limits: readonly LimitRecord[]
}

/** What stands in a queue. Times are microseconds of the database's clock. */
export interface QueueCount {
  readonly queue: string
  readonly running: number
  /** Due, and claimed by nobody. */
  readonly due: number
  readonly later: number
  readonly oldestDueAt: number | null
}

export interface LimitStore {
  /** From now on this store also orders by the aging that it finds. */
  read(): Promise<LimitRules>
  declare(declarations: readonly LimitDeclaration[]): Promise<void>
  /** Sets the limits of a queue, whatever code says, until code says something new. */
  set(queue: string, limits: StoredLimits, asked: AskedBy): Promise<void>
  pause(queue: string, asked: AskedBy): Promise<void>
  /** False when it was not paused. */
  resume(queue: string, asked: AskedBy): Promise<boolean>
  counts(): Promise<{ readonly now: number; readonly queues: readonly QueueCount[] }>
  /**
   * How priority grows: by so many points a second, up to 100; `null`: not at all, and the higher one always goes first.
   * What stands in line is put in the new order. `undefined` only looks up what was said before.
   */
  setAging(rate: number | null | undefined): Promise<void>
  /** Forgets keys under a rate of which nothing has begun for a period. */
  forgetKeys(): Promise<void>
  /** Rows whose priority has grown to 100 since the last call are put in the order in which they fell due. How many. */
  ageCapped(sources: readonly { readonly queue: string; readonly handler: string }[]): Promise<number>
}
