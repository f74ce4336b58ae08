/** How the events of rows are called: after what happened, not after the state alone. And what they carry besides. */
import type { Ending, NewEvent, NewExecution, RowMove } from '../store/change.ts'
import type { ActiveState, ExecutionKind, PauseCause } from '../store/records.ts'

/** A held row that is let go was suspended before, and is not suspended by that. */
export function moveName(from: ActiveState, to: RowMove['state']): 'held' | 'waiting' | 'suspended' | 'released' {
  if (to === 'paused') return 'held'
  if (to === 'waiting') return 'waiting'
  return from === 'in_progress' && to === 'suspended' ? 'suspended' : 'released'
}

export function eventName(state: NewExecution['state']): 'started' | 'held' | 'waiting' | 'scheduled' {
  if (state === 'in_progress') return 'started'
  if (state === 'paused') return 'held'
  return state === 'waiting' ? 'waiting' : 'scheduled'
}

/** What an execution has ended with. The stack of an error stays with the execution. */
export function errorFacts(error: Ending['error']): string | null {
  return error && JSON.stringify({ className: error.className, message: error.message })
}

/** Why a workflow is paused. */
export function pauseFacts(cause: PauseCause | null): string | null {
  return cause === null ? null : JSON.stringify({ cause })
}

/** Nodes that a deploy took away from under a workflow. */
export function healingFacts(removed: readonly string[]): string | null {
  return removed.length === 0 ? null : JSON.stringify({ removed })
}

/** What the events of a row begin with. */
export function eventPrefix(kind: ExecutionKind): 'step' | 'compensation' | 'timer' {
  if (kind === 'forward') return 'step'
  return kind === 'compensate' ? 'compensation' : 'timer'
}

/** The event of a row, after what happened to it. The compiler cannot see that every combination is listed; tests do. */
export function rowEvent(kind: ExecutionKind, what: string): NewEvent['type'] {
  return `${eventPrefix(kind)}.${what}` as NewEvent['type']
}
