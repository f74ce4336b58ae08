/**
 * The legal transitions, as two tables. Every change of state that the engine decides is looked up here; what is not
 * listed is a bug.
 */
import { InvariantError } from '../errors.ts'
import type { ActiveState, EndedState, ExecutionState, StoredWorkflowState } from '../store/records.ts'

type Table<From extends string, To extends string> = Readonly<Record<From, readonly To[]>>

/** `new` is a workflow that does not exist yet. `performing` is `ready` with a row in progress. */
export const workflowTransitions: Table<StoredWorkflowState | 'new', StoredWorkflowState> = {
  new: ['ready', 'finished'],
  ready: ['finished', 'paused', 'dlq', 'rolling_back', 'failed', 'canceled', 'aborted'],
  paused: ['ready', 'finished', 'dlq', 'rolling_back', 'failed', 'canceled', 'aborted'],
  dlq: ['ready', 'paused', 'finished', 'rolling_back', 'failed', 'canceled', 'aborted'],
  rolling_back: ['failed', 'canceled', 'aborted'],
  finished: [],
  failed: [],
  canceled: [],
  aborted: [],
}

/** `new` is an attempt that does not exist yet. Ended rows do not move, but for a rollback. */
export const executionTransitions: Table<ActiveState | 'new', ExecutionState> = {
  new: ['scheduled', 'in_progress', 'waiting', 'paused', 'skipped', 'completed'],
  scheduled: ['in_progress', 'paused', 'canceled', 'skipped', 'completed'],
  suspended: ['in_progress', 'paused', 'canceled', 'skipped', 'completed'],
  waiting: ['scheduled', 'paused', 'completed', 'skipped', 'canceled', 'failed'],
  paused: ['scheduled', 'suspended', 'waiting', 'canceled', 'skipped', 'completed'],
  in_progress: ['scheduled', 'suspended', 'waiting', 'paused', 'completed', 'skipped', 'canceled', 'failed'],
}

/** Ended rows move in a rollback alone. `failed` again: its compensation was given up, or cut off. */
export const undoTransitions: Partial<Table<EndedState, EndedState>> = {
  completed: ['compensating', 'rolled_back'],
  failed: ['compensating', 'rolled_back'],
  skipped: ['compensating', 'rolled_back'],
  canceled: ['compensating', 'rolled_back'],
  compensating: ['rolled_back', 'failed'],
}

export function checkUndoTransition(id: string, from: EndedState, to: EndedState): void {
  if (!undoTransitions[from]?.includes(to)) {
    throw new InvariantError(`Execution ${id} cannot go from ${from} to ${to}.`)
  }
}

export function checkWorkflowTransition(id: string, from: StoredWorkflowState | 'new', to: StoredWorkflowState): void {
  if (!workflowTransitions[from].includes(to)) {
    throw new InvariantError(`Workflow ${id} cannot go from ${from} to ${to}.`)
  }
}

export function checkExecutionTransition(id: string, from: ActiveState | 'new', to: ExecutionState): void {
  if (!executionTransitions[from].includes(to)) {
    throw new InvariantError(`Execution ${id} cannot go from ${from} to ${to}.`)
  }
}
