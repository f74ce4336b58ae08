/**
 * The one form in which the engine asks for a change: what becomes of a workflow and its rows, decided in
 * TypeScript, applied by the store in one transaction. Durations, never clock readings, travel in it.
 */
import type { ErrorRecord } from '../primitives/describe-error.ts'
import type {
  ActiveExecution,
  ActiveState,
  EndedState,
  EventRecord,
  ExecutionKind,
  Outcome,
  PauseCause,
  Progress,
  StoredWorkflowState,
  WorkflowRecord,
} from './records.ts'

/** When a row falls due: after a delay from now, or at a time that is already known. */
export type Due = { readonly inMs: number } | { readonly at: number }

/** An active row to be written. `owner` is set exactly when the row starts in progress. */
export interface NewExecution {
  readonly workflowId: string
  readonly slot: string
  readonly id: string
  readonly node: string
  readonly kind: ExecutionKind
  readonly attempt: number
  readonly ordinal: number
  readonly state: ActiveState
  readonly queue: string
  readonly handler: string
  readonly generation: number
  readonly priority: number
  readonly due: Due
  readonly owner: string | null
  readonly fence: number
  readonly failures: number
  readonly crashes: number
  readonly progress: Progress
}

/** The row of an ending. A row that is inserted already ended has no times of its own yet: they are now. */
export type EndingRow = Pick<
  ActiveExecution,
  'workflowId' | 'id' | 'node' | 'kind' | 'attempt' | 'ordinal' | 'startedAt' | 'owner' | 'progress'
> & { readonly createdAt: number | null; readonly dueAt: number | null }

/** An active row that ends: it moves to history as it was, with how it ended. */
export interface Ending {
  readonly execution: EndingRow
  readonly state: EndedState
  readonly outcome: Outcome
  readonly error: ErrorRecord | null
  readonly reason: string | null
  /** Encoded value that the step returned. */
  readonly output: string | null
}

export type NewEvent = Pick<EventRecord, 'workflowId' | 'type'> &
  Partial<Pick<EventRecord, 'executionId' | 'node' | 'attempt' | 'from' | 'to' | 'by' | 'reason'>>

export interface RowMove {
  readonly slot: string
  readonly state: Exclude<ActiveState, 'in_progress'>
  readonly fence: number
  /** What a held row goes back to. */
  readonly heldFrom: ActiveExecution['heldFrom']
  /** How far a resumable step has come; `null` leaves it as it is. */
  readonly progress: Progress | null
  /** `null` keeps the due time. */
  readonly due: Due | null
}

export interface WorkflowChange {
  readonly workflowId: string
  /** The new stored state, if it changes. */
  readonly state: { readonly to: StoredWorkflowState; readonly pauseCause: PauseCause | null } | null
  readonly endings: readonly Ending[]
  /** Rows that go on in the slot of an ended or idle row. */
  readonly replacements: readonly NewExecution[]
  readonly insertions: readonly NewExecution[]
  /** Rows that stay what they are and only change their state: held, let go, released. They have no owner. */
  readonly moves: readonly RowMove[]
  readonly removals: readonly { readonly slot: string }[]
  readonly events: readonly NewEvent[]
}

/** What a decision may look at: the locked workflow and its active rows. */
export interface WorkflowFacts {
  readonly workflow: WorkflowRecord
  readonly active: readonly ActiveExecution[]
  /** The execution that ended last, where the caller asked for it. */
  readonly latest: LatestEnding | null
  /** Nodes that have ended at least once, where the caller asked for them. */
  readonly passed: ReadonlySet<string>
  /** Ids of executions that were asked about and stand in history already, with the worker that ended them. */
  readonly endedBy: ReadonlyMap<string, string | null>
}

export interface LatestEnding {
  readonly node: string
  readonly attempt: number
  readonly ordinal: number
  readonly state: EndedState
  readonly outcome: Outcome
  readonly progress: Progress
}
