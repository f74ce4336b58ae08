/**
 * The catalogue of events: what each type says, as the compiler sees it. `docs/reference/events.md` says the same to people,
 * and a test compares the two. The engine cannot write a type that is missing here.
 */
import type { CustomEventName, CustomEventPayload } from '../definition/register.ts'
import type { FinalizingDecision } from '../engine/finalizing.ts'
import type {
  EngineEventType,
  ExecutionState,
  LetterReason,
  Outcome,
  PauseCause,
  StoredWorkflowState,
} from '../store/records.ts'

/** What every event says. */
export interface EventFacts {
  /** Where to go on reading after this event: `geneva.events({ after: position })`. `null` in `geneva.on`, which has no positions. */
  readonly position: string | null
  readonly workflowId: string
  /** The stored name of the class; empty for a graph that was built at run time. */
  readonly workflow: string
  /** By the clock of the database. */
  readonly at: Date
  /** Who asked for it, or the worker that began a step. */
  readonly by: string | null
  readonly reason: string | null
}

export interface WorkflowMoved extends EventFacts {
  readonly from: StoredWorkflowState | null
  readonly to: StoredWorkflowState
}

export interface WorkflowPaused extends WorkflowMoved {
  /** A person asked, the step itself did, or an exception. */
  readonly cause: PauseCause | null
  /** Where the engine itself came to the conclusion that nothing can go on. */
  readonly decision: FinalizingDecision | null
}

export interface WorkflowEnded extends WorkflowMoved {
  /** From its start. */
  readonly lastedMs: number | null
}

export interface WorkflowHealed extends EventFacts {
  /** Nodes that its code has no longer. What had ended of them stays in its history. */
  readonly removed: readonly string[]
}

export interface StepFacts<Step extends string = string> extends EventFacts {
  readonly executionId: string
  readonly step: Step
  readonly attempt: number
}

export interface StepMoved<Step extends string = string> extends StepFacts<Step> {
  /** `null` for an execution that begins to exist by this. */
  readonly from: ExecutionState | null
  /** `null` for one that is taken back. */
  readonly to: ExecutionState | null
}

export interface StepStarted<Step extends string = string> extends StepMoved<Step> {
  /** From the time it was due until a worker had it. */
  readonly waitedMs: number
}

export interface EventError {
  /** The name of the class. */
  readonly className: string
  readonly message: string
}

export interface StepEnded<Step extends string = string> extends StepMoved<Step> {
  readonly outcome: Outcome
  /** From its start; `null` for one that never ran. Of a resumable step it counts from its first run. */
  readonly ranMs: number | null
  readonly error: EventError | null
}

/** A step whose worker was lost has thrown nothing: then the error says so. */
export interface StepFailed<Step extends string = string> extends StepEnded<Step> {
  readonly error: EventError
}

/** What the engine does by the clock: ending a cancel in time, waking a parent. */
export interface TimerMoved extends EventFacts {
  readonly executionId: string
  readonly from: ExecutionState | null
  readonly to: ExecutionState | null
}

/** A dead letter: work that was given up until a person handles it. */
export interface LetterMoved<Step extends string = string> extends StepFacts<Step> {}

/** A message has come for a step, which may not have been reached yet. */
export interface SignalReceived<Step extends string = string> extends EventFacts {
  /** The step that it is for. */
  readonly signal: Step
  /** `null`: it is kept until the step is reached. */
  readonly executionId: string | null
}

/** What the events of the engine say, by type. */
export interface EngineEvents<Step extends string = string> {
  'workflow.started': WorkflowMoved
  'workflow.resumed': WorkflowMoved & { readonly pausedMs: number | null }
  'workflow.paused': WorkflowPaused
  'workflow.dlq': WorkflowMoved & { readonly decision: FinalizingDecision }
  'workflow.rolling_back': WorkflowMoved
  'workflow.finished': WorkflowEnded & { readonly decision: FinalizingDecision }
  'workflow.failed': WorkflowEnded
  'workflow.canceled': WorkflowEnded
  'workflow.aborted': WorkflowEnded
  'workflow.continued': EventFacts
  'workflow.cancel_requested': EventFacts
  'workflow.went_back': EventFacts
  'workflow.healed': WorkflowHealed
  'workflow.frozen': EventFacts
  'workflow.graph_replaced': EventFacts
  'step.scheduled': StepMoved<Step>
  'step.started': StepStarted<Step>
  'step.unserved': StepFacts<Step>
  'step.held': StepMoved<Step>
  'step.waiting': StepMoved<Step>
  'step.released': StepMoved<Step>
  'step.suspended': StepMoved<Step>
  'step.completed': StepEnded<Step>
  'step.failed': StepFailed<Step>
  'step.skipped': StepEnded<Step>
  'step.canceled': StepEnded<Step>
  'step.withdrawn': StepMoved<Step>
  'step.renamed': StepMoved<Step>
  'step.compensating': StepMoved<Step>
  'step.rolled_back': StepMoved<Step>
  'compensation.scheduled': StepMoved<Step>
  'compensation.started': StepStarted<Step>
  'compensation.released': StepMoved<Step>
  'compensation.completed': StepEnded<Step>
  'compensation.failed': StepFailed<Step>
  'compensation.skipped': StepEnded<Step>
  'decision.confirmed': StepFacts<Step>
  'decision.rejected': StepFacts<Step>
  'decision.escalated': StepFacts<Step>
  'signal.received': SignalReceived<Step>
  'timer.scheduled': TimerMoved
  'timer.started': TimerMoved
  'timer.held': TimerMoved
  'timer.released': TimerMoved
  'timer.completed': TimerMoved
  'timer.canceled': TimerMoved
  'letter.opened': LetterMoved<Step> & { readonly reason: LetterReason }
  'letter.requeued': LetterMoved<Step>
  'letter.resolved': LetterMoved<Step>
  'letter.discarded': LetterMoved<Step>
}

/** An event of the engine. */
export type EngineEvent<K extends EngineEventType = EngineEventType, Step extends string = string> = {
  readonly [T in K]: { readonly type: T } & EngineEvents<Step>[T]
}[K]

/** An event that a step has emitted. */
export type CustomEvent<K extends CustomEventName = CustomEventName, Step extends string = string> = {
  readonly [T in K]: StepFacts<Step> & { readonly type: T; readonly payload: CustomEventPayload<T> }
}[K]

export type GenevaEvent = EngineEvent | CustomEvent

export type EventName = EngineEventType | CustomEventName

/** The event of a type, or of one of several. */
export type EventOfType<K extends EventName> = K extends EngineEventType
  ? EngineEvent<K>
  : K extends CustomEventName
    ? CustomEvent<K>
    : never

/** One type, or `*` for all. */
export type EventPattern = EventName | '*'

/** Events of the application hand over what they carry first. */
export type EventHandler<K extends EventPattern, Step extends string = string> = K extends '*'
  ? (event: GenevaEvent) => unknown
  : K extends EngineEventType
    ? (event: EngineEvent<K, Step>) => unknown
    : K extends CustomEventName
      ? (payload: CustomEventPayload<K>, event: CustomEvent<K, Step>) => unknown
      : never
