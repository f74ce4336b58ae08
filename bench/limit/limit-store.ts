/**
 * The least that must be written for a chain of steps, in sets: no events, no fences, no leases, no engine. It promises
 * nothing; it only shows what the database could do if nothing else were asked of it.
 */

/** One step of one workflow. Its id follows from both, so that nobody has to hand out numbers. */
export interface LimitRow {
  readonly id: number
  readonly workflow: number
  readonly step: number
}

export const lastStep = 5

export function rowOf(workflow: number, step: number): LimitRow {
  return { id: workflow * lastStep + step, workflow, step }
}

export const due = 0
export const claimed = 1
export const ended = 2

export type SuccessorState = typeof due | typeof claimed

/** How many a step has: `one` that is changed and stays, or `two`, one that is deleted when it ends and one of history. */
export type Rows = 'one' | 'two'

/** Where steps stand that have ended. */
export const endedIn: Readonly<Record<Rows, string>> = { one: 'limit_executions', two: 'limit_history' }

export interface LimitStore {
  prepare(): Promise<void>
  /** Inserts workflows with their first steps. */
  start(workflows: readonly number[], state: SuccessorState): Promise<void>
  /** Takes the oldest steps that are due, at most so many. */
  claim(limit: number): Promise<readonly LimitRow[]>
  /** Ends claimed steps and inserts the next of each in that state; behind the last one it ends the workflow. */
  finish(rows: readonly LimitRow[], next: SuccessorState): Promise<void>
  /** Workflows that have ended, and steps that have. */
  ended(): Promise<{ readonly workflows: number; readonly steps: number }>
  close(): Promise<void>
}
