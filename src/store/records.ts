/**
 * The durable facts, as the rest of the code sees them. Times are microseconds of the database's clock; ids are
 * strings whatever the key type. Payloads stay encoded text until someone needs their value.
 */
import type { ErrorRecord } from '../primitives/describe-error.ts'
import type { Rounds } from './rounds.ts'

/** Every state of a workflow, in the order in which people are shown them. */
export const workflowStates = [
  'ready',
  'performing',
  'paused',
  'dlq',
  'rolling_back',
  'finished',
  'failed',
  'canceled',
  'aborted',
] as const

/** Those that last: nothing follows them. */
export const endedWorkflowStates = ['finished', 'failed', 'canceled', 'aborted'] as const

/** States as people see them. */
export type WorkflowState = (typeof workflowStates)[number]

export type EndedWorkflowState = (typeof endedWorkflowStates)[number]

/** Stored states of a workflow. `performing` is derived: a `ready` workflow with a row in progress. */
export type StoredWorkflowState = Exclude<WorkflowState, 'performing'>

export type ActiveState = 'scheduled' | 'in_progress' | 'suspended' | 'waiting' | 'paused'
/** An ended row is moved on by a rollback alone: to `compensating` and `rolled_back`. */
export type EndedState = 'completed' | 'failed' | 'skipped' | 'canceled' | 'compensating' | 'rolled_back'
export type ExecutionState = ActiveState | EndedState

/** How an execution ended, for people; the state is for logic. */
export type Outcome =
  | 'success'
  | 'reattempted'
  | 'skipped_by_condition'
  | 'skipped_by_flow_control'
  | 'skipped_by_exception'
  | 'canceled_by_condition'
  | 'canceled_by_flow_control'
  | 'canceled_by_exception'
  | 'paused_by_exception'
  | 'reattempted_by_exception'
  | 'recovered'
  | 'timed_out'
  | 'dead_lettered'
  | 'resolved'
  | 'not_taken'
  | 'superseded'
  | 'stopped'
  | 'confirmed'
  | 'rejected'
  | 'unknown'
  | 'rolled_back_by_exception'
  | 'compensated'
  | 'compensation_failed'

/**
 * `forward` runs a step; `compensate` undoes one; `timer` wakes the engine
 * itself, with an empty node for the workflow as a whole.
 */
export type ExecutionKind = 'forward' | 'compensate' | 'timer'

/**
 * Why a workflow is paused: a person asked, the step itself asked, or an exception did it. `finishing`: a person asked,
 * and then the running step declared the workflow finished, so that resuming it ends it.
 */
export type PauseCause = 'request' | 'flow_control' | 'exception' | 'finishing'

export interface HeroKey {
  readonly type: string
  readonly idText: string
  readonly idKind: 'number' | 'bigint' | 'string'
}

/** The node of another workflow that waits for this one to end. */
export interface ParentKey {
  readonly workflowId: string
  readonly node: string
}

/** Why a workflow is being undone, and how far it goes back. */
export interface Rollback {
  /** After a failure it goes back to the last save point and ends `failed`; after a cancel to the start, and ends `canceled`. */
  readonly kind: 'failure' | 'cancel'
  /** A compensation was given up, so it ends `failed` in any case. */
  readonly givenUp: boolean
  /** One that was given up was requeued meanwhile and waits for its turn, out of the order of the others. */
  readonly requeued?: boolean
  readonly message: string | null
  readonly by: string | null
  /** The execution that has called for it, by `this.cancel()`. */
  readonly calledBy?: string
}

export interface WorkflowRecord {
  readonly id: string
  readonly type: string
  readonly hero: HeroKey | null
  readonly state: StoredWorkflowState
  readonly pauseCause: PauseCause | null
  readonly allowMultiple: boolean
  readonly idempotencyKey: string | null
  /** The number of the class's graph that its rows go by; 0 where a stored graph takes precedence. */
  readonly generation: number
  /** The signature of the graph that is stored with the workflow; `null`: its class says how it goes on. */
  readonly frozen: string | null
  /** A failed node that keeps others waiting, while independent branches go on. */
  readonly blockedBy: string | null
  /** A step has declared the workflow finished, and what still runs is waited for. */
  readonly finishing: boolean
  /** Set once it is rolled back. */
  readonly rollback: Rollback | null
  /** A join went on without a branch that had failed. */
  readonly partial: boolean
  /** Which attempts belong to an earlier round: somebody has sent the workflow back. */
  readonly rounds: Rounds
  /** Its rows do not stand as the graph would have them, so its counters say nothing. */
  readonly crooked: boolean
  readonly parent: ParentKey | null
  /** The key that limits of its class count by; empty where there is none. */
  readonly lane: string
  /** How many dead letters are open. */
  readonly openLetters: number
  /** Somebody wants to know when it has ended. */
  readonly watched: boolean
  /** Encoded: what it is continued as when it has finished, while what still runs is waited for. */
  readonly continuation: string | null
  /** The workflow that goes on where this one has finished. */
  readonly continuedAs: string | null
  /** The workflow that this one goes on from. */
  readonly continues: string | null
  /** When it must have ended; it has a timer then. */
  readonly deadlineAt: number | null
  /** Rises with every change of the workflow's own row, so that whoever knows it knows whether the rest still holds. */
  readonly version: number
  readonly createdAt: number
  readonly pausedAt: number | null
  readonly endedAt: number | null
}

/** How far a resumable step has come. It moves on from attempt to attempt, unless the step is rewound. */
export interface Progress {
  /** Encoded; `null` before the first item. */
  readonly cursor: string | null
  readonly completedIterations: number
  /** How many items there are, if the step has said so. */
  readonly total: number | null
  /** How often the step was begun. */
  readonly runs: number
}

export const noProgress: Progress = { cursor: null, completedIterations: 0, total: null, runs: 0 }

/** Proof of what an execution came after: its own hash, and the executions whose hashes went into it. */
export interface Ancestry {
  readonly hash: string
  readonly parents: readonly string[]
}

/**
 * `true`: user code that is called once is about to be called. `turn`: a row that was taken over is about to run; what is asked
 * before the call is code, too.
 */
export type StartMark = boolean | 'turn'

/** An execution that has not ended. */
export interface ActiveExecution {
  readonly workflowId: string
  /** Empty for the rows of a plain chain, so that the key itself allows only one. */
  readonly slot: string
  readonly id: string
  readonly node: string
  /** What people call the node; `null` where that is its id, as it is in classes. */
  readonly nodeName: string | null
  readonly kind: ExecutionKind
  readonly attempt: number
  /** How many executions came before this one on its path: the order of history. */
  readonly ordinal: number
  readonly state: ActiveState
  readonly queue: string
  /** The name of the code that can run it. */
  readonly handler: string
  /** The line in the queue that it stands in: the key of its workflow, empty where there is none. */
  readonly lane: string
  /** Only code of this generation or a later one may run it. */
  readonly generation: number
  readonly priority: number
  readonly createdAt: number
  readonly dueAt: number
  readonly startedAt: number | null
  readonly owner: string | null
  readonly fence: number
  /** Thrown errors since the last success or reset. */
  readonly failures: number
  /** Takeovers in a row. */
  readonly crashes: number
  /** What its worker wrote down before it began. */
  readonly startMark: StartMark
  /** What a held row goes back to. `stopping`: the row runs, and its worker is told to stop. */
  readonly heldFrom: 'scheduled' | 'suspended' | 'stopping' | null
  readonly progress: Progress
  /** Encoded: what this execution alone works on, such as one item of many. */
  readonly input: string | null
  readonly ancestry: Ancestry
}

/** An execution that has ended. Written once. */
export interface EndedExecution {
  readonly workflowId: string
  readonly id: string
  readonly node: string
  /** What people call the node; `null` where that is its id, as it is in classes. */
  readonly nodeName: string | null
  readonly kind: ExecutionKind
  readonly attempt: number
  readonly ordinal: number
  readonly state: EndedState
  readonly outcome: Outcome
  readonly createdAt: number
  readonly dueAt: number
  readonly startedAt: number | null
  readonly endedAt: number
  readonly owner: string | null
  readonly error: ErrorRecord | null
  readonly reason: string | null
  readonly progress: Progress
  readonly ancestry: Ancestry
}

/** What a worker gets when it claims an execution: all that is needed to run it. */
export interface ClaimedExecution {
  readonly execution: ActiveExecution
  readonly workflow: WorkflowRecord
  readonly input: string | null
  /** Where in a trace the workflow was started, if somebody traced it. */
  readonly trace?: string | null
  /** The revision of the limits that it was claimed under; unknown where it was not claimed just now. */
  readonly revision?: number
}

/** Every type of event that the engine itself writes. */
export const engineEventTypes = [
  'workflow.started',
  'workflow.resumed',
  'workflow.paused',
  'workflow.dlq',
  'workflow.rolling_back',
  'workflow.finished',
  'workflow.failed',
  'workflow.canceled',
  'workflow.aborted',
  'workflow.continued',
  'workflow.cancel_requested',
  'workflow.went_back',
  'workflow.healed',
  'workflow.frozen',
  'workflow.graph_replaced',
  'step.scheduled',
  'step.started',
  'step.unserved',
  'step.held',
  'step.waiting',
  'step.released',
  'step.suspended',
  'step.completed',
  'step.failed',
  'step.skipped',
  'step.canceled',
  'step.withdrawn',
  'step.renamed',
  'step.compensating',
  'step.rolled_back',
  'decision.confirmed',
  'decision.rejected',
  'decision.escalated',
  'compensation.scheduled',
  'compensation.started',
  'compensation.released',
  'compensation.completed',
  'compensation.failed',
  'compensation.skipped',
  'signal.received',
  'timer.scheduled',
  'timer.started',
  'timer.held',
  'timer.released',
  'timer.completed',
  'timer.canceled',
  'letter.opened',
  'letter.requeued',
  'letter.resolved',
  'letter.discarded',
] as const

export type EngineEventType = (typeof engineEventTypes)[number]

/** The type of an event that a step has emitted, once its name was checked. */
export type CustomEventType = string & { readonly '~custom': true }

export interface EventRecord {
  /** Rises in the order of writing, which is not always that of commits. */
  readonly id: string
  readonly workflowId: string
  readonly type: string
  readonly executionId: string | null
  readonly node: string | null
  /** What people call the node; `null` where that is its id, as it is in classes. */
  readonly nodeName: string | null
  readonly attempt: number | null
  readonly from: string | null
  readonly to: string | null
  readonly at: number
  readonly by: string | null
  readonly reason: string | null
  /** How an execution ended. */
  readonly outcome: Outcome | null
  /** When what the event ends began: the due time of a start, the start of an end. */
  readonly since: number | null
  /** Encoded: what a step has emitted; the error of an execution that has ended with one. */
  readonly payload: string | null
}

export interface WorkerRecord {
  readonly id: string
  readonly host: string
  readonly pid: number
  readonly leaseMs: number
  readonly handlers: readonly string[]
  /** What of these handlers it may claim. */
  readonly serves?: WorkerServes
}

export interface WorkerServes {
  readonly queues: readonly string[]
  /** The latest generation of each handler that it has code for. */
  readonly generations: Readonly<Record<string, number>>
}

/** Why work was given up until a person handles it. */
export type LetterReason = 'retries_exhausted' | 'policy' | 'crash_limit' | 'compensation_exhausted' | 'unknown_outcome'

export type LetterState = 'open' | 'requeued' | 'resolved' | 'discarded'

/** A dead letter: one execution that was given up, and what became of it. */
export interface LetterRecord {
  readonly id: string
  readonly workflowId: string
  readonly workflowType: string
  readonly executionId: string
  readonly node: string
  /** What people call the node; `null` where that is its id, as it is in classes. */
  readonly nodeName: string | null
  readonly kind: ExecutionKind
  readonly attempt: number
  readonly reason: LetterReason
  readonly error: ErrorRecord | null
  readonly state: LetterState
  readonly createdAt: number
  readonly handledAt: number | null
  readonly handledBy: string | null
  readonly handledReason: string | null
}

/** What one person said about a node that waits for people. */
export interface DecisionRecord {
  readonly id: string
  readonly workflowId: string
  readonly executionId: string
  readonly node: string
  readonly by: string
  readonly decision: 'confirmed' | 'rejected'
  readonly comment: string | null
  /** Encoded. */
  readonly data: string | null
  readonly at: number
}

/** A message from outside, kept until its node waits for it. */
export interface SignalRecord {
  readonly id: string
  readonly workflowId: string
  readonly node: string
  /** Encoded. */
  readonly payload: string | null
  readonly by: string | null
  /** A second signal with the same key is the same signal. */
  readonly key: string | null
  /** The execution that it went to. */
  readonly takenBy: string | null
  readonly at: number
}
