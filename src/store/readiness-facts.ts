/**
 * What can be read about any set of workflows at one moment, to tell which of their nodes may run and why the others may
 * not. Nothing is locked, so it may be old news by the time it is looked at; it is never half of two moments.
 */
import type { LimitStanding, PlaceHolder } from './limit-store.ts'
import type {
  ActiveExecution,
  EndedState,
  LetterRecord,
  Outcome,
  StoredWorkflowState,
  WorkerServes,
  WorkflowRecord,
} from './records.ts'

/** How many workflows one look may be about. */
export const maxReadinessIds = 5000

export interface ReadinessFacts {
  /** The time of the database in microseconds, by which things fall due. */
  readonly now: number
  /** Those that exist, in no particular order. */
  readonly workflows: readonly WorkflowStanding[]
  readonly workers: readonly KnownWorker[]
  /** Limits and pauses, with what counts under them. */
  readonly limits: readonly LimitStanding[]
  readonly holders: readonly PlaceHolder[]
}

export interface WorkflowStanding {
  readonly workflow: WorkflowRecord
  /** Timers among them. */
  readonly active: readonly StandingRow[]
  /** The latest ended attempt of each node. */
  readonly latest: ReadonlyMap<string, StandingEnd>
  /** The attempt before the one at the compensation that is under way; `null` where none was made. */
  readonly undo: StandingEnd | null
  readonly fanIns: ReadonlyMap<string, number>
  /** How it came into its state; `null` while it is ready. */
  readonly change: StateChange | null
  /** The workflows that it has started and that have not ended, by id. */
  readonly children: ReadonlyMap<string, ChildStanding>
  /** Dead letters that are open, oldest first. */
  readonly letters: readonly LetterRecord[]
  /** Who has confirmed what waits for people, in the order in which they did. */
  readonly confirmed: readonly Confirmation[]
}

export interface Confirmation {
  readonly executionId: string
  readonly by: string
}

/** An active row without its payload. `input` is there only where it names the workflow that a node waits for. */
export type StandingRow = Pick<
  ActiveExecution,
  | 'slot'
  | 'id'
  | 'node'
  | 'kind'
  | 'attempt'
  | 'state'
  | 'queue'
  | 'handler'
  | 'lane'
  | 'generation'
  | 'dueAt'
  | 'startedAt'
  | 'owner'
  | 'fence'
  | 'failures'
  | 'crashes'
  | 'heldFrom'
  | 'input'
>

export interface StandingEnd {
  readonly id: string
  readonly node: string
  readonly attempt: number
  readonly state: EndedState
  readonly outcome: Outcome
  readonly endedAt: number
  readonly error: { readonly className: string; readonly message: string } | null
  readonly reason: string | null
}

export interface StateChange {
  readonly at: number
  readonly by: string | null
  readonly reason: string | null
}

export interface ChildStanding {
  readonly id: string
  readonly type: string
  readonly state: StoredWorkflowState
}

export interface KnownWorker {
  readonly id: string
  readonly host: string
  readonly pid: number
  /** It holds its lease. */
  readonly alive: boolean
  /** Until when the lease lasts, or how long it lasted, by the same clock as due times. */
  readonly leaseUntil: number
  readonly handlers: readonly string[]
  /** `null`: it has not said; then it is taken to serve every queue and generation. */
  readonly serves: WorkerServes | null
}
