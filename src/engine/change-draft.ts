/**
 * Collects what a decision changes in one workflow, checks every step against the transition tables, and writes the
 * event of each. It decides nothing itself.
 */

import type { ErrorRecord } from '../primitives/describe-error.ts'
import type {
  Due,
  Ending,
  EndingRow,
  NewEvent,
  NewExecution,
  RowMove,
  WorkflowChange,
  WorkflowFacts,
} from '../store/change.ts'
import type {
  ActiveExecution,
  EndedState,
  Outcome,
  PauseCause,
  Progress,
  StoredWorkflowState,
} from '../store/records.ts'
import { checkExecutionTransition, checkWorkflowTransition } from './transitions.ts'

/** Who asked for a change from outside, and why. */
export interface Request {
  readonly by: string | null
  readonly reason: string | null
}

export interface EndingDetails {
  readonly error?: ErrorRecord | null
  readonly reason?: string | null
  readonly output?: string | null
  readonly by?: string | null
}

export interface MoveDetails {
  readonly heldFrom?: RowMove['heldFrom']
  readonly progress?: Progress
  readonly due?: Due
  readonly reason?: string | null
}

export type NextExecution = Omit<NewExecution, 'workflowId' | 'due'> & { readonly due: Due }

export class ChangeDraft {
  readonly facts: WorkflowFacts
  readonly #endings: Ending[] = []
  readonly #next = new Map<string, NewExecution>()
  readonly #freed = new Set<string>()
  readonly #moves: RowMove[] = []
  readonly #events: NewEvent[] = []
  #state: WorkflowChange['state'] = null

  constructor(facts: WorkflowFacts) {
    this.facts = facts
  }

  get workflowId(): string {
    return this.facts.workflow.id
  }

  get state(): StoredWorkflowState {
    return this.#state?.to ?? this.facts.workflow.state
  }

  /** The row is over: it leaves the active rows and enters history. */
  end(execution: ActiveExecution, state: EndedState, outcome: Outcome, details: EndingDetails = {}): void {
    checkExecutionTransition(execution.id, execution.state, state)
    this.#freed.add(execution.slot)
    this.#record(execution, execution.state, { state, outcome, details })
  }

  /** A new attempt that is over as soon as it exists: a failed step that a person skips. */
  insertEnded(row: EndingRow, state: EndedState, outcome: Outcome, details: EndingDetails = {}): void {
    checkExecutionTransition(row.id, 'new', state)
    this.#record(row, 'new', { state, outcome, details })
  }

  #record(row: EndingRow, from: string, end: { state: EndedState; outcome: Outcome; details: EndingDetails }): void {
    const { state, outcome, details } = end
    const reason = details.reason ?? null
    this.#endings.push({
      execution: row,
      state,
      outcome,
      error: details.error ?? null,
      reason,
      output: details.output ?? null,
    })
    this.#event(`step.${state}`, row, { from, to: state, by: details.by ?? null, reason: reason ?? outcome })
  }

  /** A new row, in the slot of one that has ended where there is one. */
  insert(execution: NextExecution): NewExecution {
    checkExecutionTransition(execution.id, 'new', execution.state)
    const row = { ...execution, workflowId: this.workflowId }
    this.#next.set(execution.slot, row)
    this.#event(`${execution.kind === 'timer' ? 'timer' : 'step'}.${eventName(execution.state)}`, row, {
      to: execution.state,
      by: execution.owner,
    })
    return row
  }

  /** The same row in another state: held, let go or released. */
  move(execution: ActiveExecution, state: RowMove['state'], details: MoveDetails = {}): void {
    checkExecutionTransition(execution.id, execution.state, state)
    this.#moves.push({
      slot: execution.slot,
      state,
      fence: execution.state === 'in_progress' ? execution.fence + 1 : execution.fence,
      heldFrom: state === 'paused' ? (details.heldFrom ?? 'scheduled') : null,
      progress: details.progress ?? null,
      due: details.due ?? null,
    })
    this.#event(`step.${moveName(execution.state, state)}`, execution, {
      from: execution.state,
      to: state,
      reason: details.reason ?? null,
    })
  }

  /** A timer that is no longer needed, or that has done its work. */
  dropTimers(): void {
    for (const row of this.facts.active) if (row.kind === 'timer') this.#freed.add(row.slot)
  }

  moveWorkflow(to: StoredWorkflowState, request: Request | null = null, pauseCause: PauseCause | null = null): void {
    const from = this.state
    checkWorkflowTransition(this.workflowId, from, to)
    this.#state = { to, pauseCause }
    this.#events.push({
      workflowId: this.workflowId,
      type: `workflow.${to === 'ready' ? 'resumed' : to}`,
      from,
      to,
      by: request?.by ?? null,
      reason: request?.reason ?? null,
    })
  }

  /** Stays paused, for another reason. */
  changePauseCause(pauseCause: PauseCause): void {
    this.#state = { to: 'paused', pauseCause }
  }

  build(): WorkflowChange {
    const existing = new Set(this.facts.active.map(row => row.slot))
    const next = [...this.#next.values()]
    return {
      workflowId: this.workflowId,
      state: this.#state,
      endings: this.#endings,
      replacements: next.filter(row => existing.has(row.slot)),
      insertions: next.filter(row => !existing.has(row.slot)),
      removals: [...this.#freed].filter(slot => !this.#next.has(slot)).map(slot => ({ slot })),
      moves: this.#moves,
      events: this.#events,
    }
  }

  #event(type: string, row: Pick<ActiveExecution, 'id' | 'node' | 'attempt'>, rest: Partial<NewEvent>): void {
    this.#events.push({
      workflowId: this.workflowId,
      type,
      executionId: row.id,
      node: row.node,
      attempt: row.attempt,
      ...rest,
    })
  }
}

/** A held row that is let go was suspended before, and is not suspended by that. */
function moveName(from: ActiveExecution['state'], to: RowMove['state']): string {
  if (to === 'paused') return 'held'
  return from === 'in_progress' && to === 'suspended' ? 'suspended' : 'released'
}

function eventName(state: NewExecution['state']): string {
  return state === 'in_progress' ? 'started' : state === 'paused' ? 'held' : 'scheduled'
}
