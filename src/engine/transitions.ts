/**
 * The legal transitions, as two tables. Every change of state that the engine decides is looked up here; what is not
 * listed is a bug.
 */
import { InvariantError } from '../errors.ts'
import type { ActiveState, ExecutionState, StoredWorkflowState } from '../store/records.ts'

type Table<From extends string, To extends string> = Readonly<Record<From, readonly To[]>>

/** `new` is a workflow that does not exist yet. `performing` is `ready` with a row in progress. */
export const workflowTransitions: Table<StoredWorkflowState | 'new', StoredWorkflowState> = {
  new: ['ready', 'finished'],
  ready: ['finished', 'paused', 'dlq', 'rolling_back', 'canceled'],
  paused: ['ready', 'finished', 'dlq', 'rolling_back', 'canceled'],
  dlq: ['ready', 'paused', 'finished', 'rolling_back', 'canceled'],
  rolling_back: ['canceled'],
  finished: [],
  canceled: [],
}

/** `new` is an attempt that does not exist yet. Ended rows do not move. */
export const executionTransitions: Table<ActiveState | 'new', ExecutionState> = {
  new: ['scheduled', 'in_progress', 'waiting', 'paused', 'skipped', 'completed'],
  scheduled: ['in_progress', 'paused', 'canceled', 'skipped', 'completed'],
  suspended: ['in_progress', 'paused', 'canceled', 'skipped', 'completed'],
  waiting: ['scheduled', 'paused', 'completed', 'skipped', 'canceled', 'failed'],
  paused: ['scheduled', 'suspended', 'canceled', 'skipped', 'completed'],
  in_progress: ['scheduled', 'suspended', 'waiting', 'paused', 'completed', 'skipped', 'canceled', 'failed'],
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
