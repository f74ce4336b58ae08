/**
 * What must be durable about schedules: when each ticks next, and that nobody starts a tick that somebody else has started.
 * Times are microseconds of the database's clock.
 */
import type { StartResult } from './change.ts'
import type { AskedBy } from './request-store.ts'

export interface ScheduleRecord {
  readonly name: string
  /** The workflow class, by its stored name. */
  readonly type: string
  readonly timing: string
  readonly catchUp: string
  readonly nextAt: number
  /** When it began to go by this timing: ticks before that are not made up for. The next tick was counted from it. */
  readonly since: number
  readonly paused: boolean
  readonly pausedBy: string | null
  readonly pauseReason: string | null
  readonly lastTickAt: number | null
  readonly lastWorkflowId: string | null
  readonly started: number
  /** Ticks that fell away because a workflow stood in their way. */
  readonly skipped: number
  readonly lastError: string | null
}

export type ScheduleEntry = Pick<ScheduleRecord, 'name' | 'type' | 'timing' | 'catchUp' | 'nextAt' | 'since'>

/** Some ticks to be started, and the one that comes after them. */
export interface TickRun<Order> {
  /** What was seen; when it has changed meanwhile, somebody else was faster. */
  readonly seen: Pick<ScheduleRecord, 'name' | 'timing' | 'nextAt'>
  readonly nextAt: number
  /** The last tick that was looked at; `null`: none was. */
  readonly lastTickAt: number | null
  readonly orders: readonly Order[]
  /** Leave ticks out while the workflow of an earlier one goes on. */
  readonly skipOverlap: boolean
}

/** `Order` is what the store starts a workflow by. */
export interface ScheduleStore<Order> {
  /** All, or those with these names, and the time that it is for the database. */
  list(names?: readonly string[]): Promise<{ readonly now: number; readonly schedules: readonly ScheduleRecord[] }>
  /** Inserts a schedule that is not there yet. */
  add(entry: ScheduleEntry): Promise<void>
  /** Puts new timing in place of what was seen. A tick that is overdue stays due. */
  replace(entry: ScheduleEntry, seenTiming: string): Promise<void>
  /**
   * Starts the ticks and moves on, in one transaction, if nobody has done so before. `null`: somebody has, or is about to.
   */
  run(run: TickRun<Order>): Promise<readonly StartResult[] | null>
  /** False where there is no such schedule. */
  pause(name: string, asked: AskedBy): Promise<boolean>
  /** Goes on with the tick given. False where there is none that is paused. */
  resume(name: string, from: Pick<ScheduleRecord, 'nextAt' | 'since'>, asked: AskedBy): Promise<boolean>
  remove(name: string, asked: AskedBy): Promise<boolean>
  /** That the tick which was seen could not be started. Nothing is noted where somebody else has done so meanwhile. */
  noteError(seen: TickRun<Order>['seen'], message: string): Promise<void>
}
