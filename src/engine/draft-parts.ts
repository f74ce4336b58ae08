/** The parts that a draft of a change is made of, and what stands for those that it does not have. */
import type {
  Ending,
  EndingRow,
  LatestEnding,
  NewDecision,
  NewSignal,
  TakenSignal,
  WorkflowUpdate,
} from '../store/change.ts'
import type { EndedState, Outcome, WorkflowRecord } from '../store/records.ts'
import type { EndingDetails } from './draft-details.ts'

export interface Messages {
  readonly decisions: NewDecision[]
  readonly signals: NewSignal[]
  readonly taken: TakenSignal[]
}

/** Most changes have none of these. */
export const nothing: readonly never[] = []
export const noLetters = { opened: nothing, closed: nothing }
export const noMessages = { decisions: nothing, signals: nothing, taken: nothing }

export function endingOf(
  execution: EndingRow,
  state: EndedState,
  outcome: Outcome,
  { error = null, reason = null, output = null }: EndingDetails,
): Ending {
  return { execution, state, outcome, error, reason, output }
}

export function updateFrom(workflow: WorkflowRecord): WorkflowUpdate {
  const { state, pauseCause, blockedBy, finishing, rollback, partial, rounds } = workflow
  const { crooked, openLetters, generation, frozen } = workflow
  return {
    state,
    pauseCause,
    blockedBy,
    finishing,
    rollback,
    partial,
    rounds,
    crooked,
    openLetters,
    generation,
    frozen,
  }
}

/** Named one by one: every step comes through here, and a spread of a row is many times slower. */
export function latestFrom({ execution, state, outcome, reason }: Ending): LatestEnding {
  const { id, node, attempt, ordinal, progress, input, ancestry } = execution
  return { id, node, attempt, ordinal, state, outcome, reason, progress, input, ancestry }
}
