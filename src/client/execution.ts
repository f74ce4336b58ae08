/**
 * An execution as people see it: one attempt at a step, whether it has ended or not.
 */
import type { ErrorRecord } from '../primitives/describe-error.ts'
import type { ActiveExecution, EndedExecution, EventRecord, ExecutionState, Outcome } from '../store/records.ts'

export interface Execution {
  readonly id: string
  readonly step: string
  readonly attempt: number
  readonly state: ExecutionState
  /** How it ended; `null` while it has not. */
  readonly outcome: Outcome | null
  readonly scheduledFor: Date
  readonly startedAt: Date | null
  readonly endedAt: Date | null
  readonly error: ErrorRecord | null
  readonly reason: string | null
}

export interface WorkflowEvent extends Omit<EventRecord, 'at'> {
  readonly at: Date
}

export function fromEnded(row: EndedExecution): Execution {
  return {
    id: row.id,
    step: row.node,
    attempt: row.attempt,
    state: row.state,
    outcome: row.outcome,
    scheduledFor: toDate(row.dueAt),
    startedAt: toOptionalDate(row.startedAt),
    endedAt: toDate(row.endedAt),
    error: row.error,
    reason: row.reason,
  }
}

export function fromActive(row: ActiveExecution): Execution {
  return {
    id: row.id,
    step: row.node,
    attempt: row.attempt,
    state: row.state,
    outcome: null,
    scheduledFor: toDate(row.dueAt),
    startedAt: toOptionalDate(row.startedAt),
    endedAt: null,
    error: null,
    reason: null,
  }
}

export function fromEvent(row: EventRecord): WorkflowEvent {
  return { ...row, at: toDate(row.at) }
}

/** The database keeps microseconds, a Date milliseconds. */
export function toDate(micros: number): Date {
  return new Date(Math.floor(micros / 1000))
}

export function toOptionalDate(micros: number | null): Date | null {
  return micros === null ? null : toDate(micros)
}
