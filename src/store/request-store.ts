/**
 * The record of what people asked of queues, schedules and the store itself: who, why, when. What they ask of a workflow stands
 * among its events instead. Rows are added, and never changed by what happens later.
 */

/** Who asks for something, and why. */
export interface AskedBy {
  readonly by: string | null
  readonly reason: string | null
}

/** What can be asked for, by the names that the HTTP API has for it. */
export type RequestAction =
  | 'queue.pause'
  | 'queue.resume'
  | 'queue.limit'
  | 'schedule.pause'
  | 'schedule.resume'
  | 'schedule.remove'
  | 'workflow.prune'

export interface RequestEntry extends AskedBy {
  readonly action: RequestAction
  /** The queue or schedule; `null` where it is about none. */
  readonly name: string | null
  /** What there is to know besides, as JSON. */
  readonly detail: string | null
}

export interface RequestRecord extends RequestEntry {
  readonly id: string
  readonly at: number
}

export interface RequestRead {
  /** Only what was asked of queues, of schedules, or of workflows as a whole. */
  readonly about?: 'queue' | 'schedule' | 'workflow'
  readonly before?: string
  readonly limit: number
}

export interface RequestStore {
  /** Newest first. */
  list(read: RequestRead): Promise<readonly RequestRecord[]>
  /** For what takes longer than a transaction: recorded before it begins. Returns the id of the record. */
  begin(entry: RequestEntry): Promise<string>
  /** What became of it; `null`: nothing, so that there is nothing to be recorded. */
  complete(id: string, detail: string | null): Promise<void>
}
