/**
 * The one form in which the engine asks for a change: what becomes of a workflow and its rows, decided in
 * TypeScript, applied by the store in one transaction. Durations, never clock readings, travel in it.
 */
import type { ErrorRecord } from '../primitives/describe-error.ts'
import type {
  ActiveExecution,
  ActiveState,
  Ancestry,
  CustomEventType,
  DecisionRecord,
  EndedState,
  EngineEventType,
  EventRecord,
  ExecutionKind,
  LetterRecord,
  LetterState,
  Outcome,
  PauseCause,
  Progress,
  Rollback,
  SignalRecord,
  StoredWorkflowState,
  WorkflowRecord,
} from './records.ts'
import type { Rounds } from './rounds.ts'

/** When a row falls due: after a delay from now, or at a time that is already known. */
export type Due = { readonly inMs: number } | { readonly at: number }

/** An active row to be written. `owner` is set exactly when the row starts in progress. */
export interface NewExecution {
  readonly workflowId: string
  readonly slot: string
  readonly id: string
  readonly node: string
  /** Only where it is not the id. */
  readonly nodeName?: string | null
  readonly kind: ExecutionKind
  readonly attempt: number
  readonly ordinal: number
  readonly state: ActiveState
  readonly queue: string
  readonly handler: string
  /** Empty where nothing is said. */
  readonly lane?: string
  readonly generation: number
  readonly priority: number
  readonly due: Due
  readonly owner: string | null
  readonly fence: number
  readonly failures: number
  readonly crashes: number
  readonly progress: Progress
  readonly input: string | null
  readonly ancestry: Ancestry
  /** Of one that had begun under another name, or in another slot, and waits or is suspended: since when. */
  readonly startedAt?: number | null
}

/** The row of an ending. A row that is inserted already ended has no times of its own yet: they are now. */
export type EndingRow = Pick<
  ActiveExecution,
  | 'workflowId'
  | 'id'
  | 'node'
  | 'nodeName'
  | 'kind'
  | 'attempt'
  | 'ordinal'
  | 'startedAt'
  | 'owner'
  | 'progress'
  | 'input'
  | 'ancestry'
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

/** An event to be written. The compiler sees to it that the engine writes no type that is not listed. */
export type NewEvent = { readonly workflowId: string; readonly type: EngineEventType | CustomEventType } & Partial<
  Omit<EventRecord, 'id' | 'workflowId' | 'type' | 'at'>
>

export interface RowMove {
  readonly slot: string
  readonly state: Exclude<ActiveState, 'in_progress'>
  readonly fence: number
  /** What a held row goes back to. */
  readonly heldFrom: ActiveExecution['heldFrom']
  /** What the row works on from now on; `null` leaves it as it is. */
  readonly input: string | null
  /** How far a resumable step has come; `null` leaves it as it is. */
  readonly progress: Progress | null
  /** `null` keeps the due time. */
  readonly due: Due | null
  /** How many takeovers in a row there are by now; without it they stay what they are. */
  readonly crashes?: number | undefined
  /** How often the step has run by now; without it what the progress says counts, and else it stays what it is. */
  readonly runs?: number | undefined
}

/** How many parents of a node are still open. Only kept for nodes with several parents. */
export interface FanIn {
  readonly node: string
  readonly open: number
}

/** By how many it has fewer open parents than before. Written as the difference, which holds whatever others have counted before it. */
export interface CountedDown {
  readonly node: string
  readonly by: number
}

export type NewLetter = Pick<
  LetterRecord,
  'id' | 'executionId' | 'node' | 'nodeName' | 'kind' | 'attempt' | 'reason' | 'error'
>

export interface ClosedLetter {
  readonly id: string
  readonly state: Exclude<LetterState, 'open'>
  readonly by: string | null
  readonly reason: string | null
}

/** A workflow that goes on where another has finished: of the same class, for the same hero, with an input of its own. */
export interface Continuation {
  readonly id: string
  /** Encoded. */
  readonly input: string | null
  /** The key that limits of its class count by. */
  readonly lane: string
  readonly generation: number
  readonly first: readonly NewExecution[]
  /** When it must have ended. The row of the timer for that is among the first. */
  readonly deadline: Due | null
}

export type NewDecision = Omit<DecisionRecord, 'workflowId' | 'at'>
export type NewSignal = Omit<SignalRecord, 'workflowId' | 'at'>

export interface TakenSignal {
  readonly id: string
  readonly executionId: string
}

export interface WorkflowUpdate {
  readonly state: StoredWorkflowState
  readonly pauseCause: PauseCause | null
  readonly blockedBy: string | null
  readonly finishing: boolean
  readonly rollback: Rollback | null
  readonly partial: boolean
  readonly rounds: Rounds
  readonly crooked: boolean
  readonly openLetters: number
  readonly generation: number
  /** The signature of the stored graph, where there is one. */
  readonly frozen: string | null
}

export interface WorkflowChange {
  readonly workflowId: string
  /** What the workflow's own row becomes, if it changes. */
  readonly update: WorkflowUpdate | null
  readonly endings: readonly Ending[]
  /** Ended rows that a rollback moves on. */
  readonly undone: readonly { readonly id: string; readonly state: EndedState }[]
  /** Ended attempts that leave history, by id. */
  readonly dropped: readonly string[]
  /** Rows that go on in the slot of an ended or idle row. */
  readonly replacements: readonly NewExecution[]
  readonly insertions: readonly NewExecution[]
  /** Rows that stay what they are and only change their state: held, let go, released. They have no owner. */
  readonly moves: readonly RowMove[]
  readonly removals: readonly { readonly slot: string }[]
  /** Running rows whose workers are told to stop, by their next heartbeat. */
  readonly stops: readonly { readonly slot: string }[]
  /** Counters by what becomes of their rows. The lock on the workflow makes sure of what is there. */
  readonly fanIns: {
    readonly inserted: readonly FanIn[]
    readonly updated: readonly (FanIn & CountedDown)[]
    readonly removed: readonly { readonly node: string }[]
    /** The workflow has ended, and none is needed any more. */
    readonly cleared: boolean
  }
  readonly letters: {
    readonly opened: readonly NewLetter[]
    readonly closed: readonly ClosedLetter[]
  }
  /** What came from outside. */
  readonly messages: {
    readonly decisions: readonly NewDecision[]
    readonly signals: readonly NewSignal[]
    readonly taken: readonly TakenSignal[]
  }
  /** A graph that is stored with the workflow from now on. */
  readonly graph: { readonly signature: string; readonly graph: string } | null
  /** `planned`: kept until the workflow has finished. `begun`: it has, and whoever watches it watches the other one. */
  readonly continuation: { readonly stage: 'planned' | 'begun'; readonly as: Continuation } | null
  /** The workflow has ended and is watched: its watchers are woken. */
  readonly wakes: boolean
  readonly events: readonly NewEvent[]
}

/** What a decision may look at: the locked workflow and, of its rows, what was asked for. */
export interface WorkflowFacts {
  readonly workflow: WorkflowRecord
  readonly active: readonly ActiveExecution[]
  /** `active` holds every row of the workflow. */
  readonly complete: boolean
  /** Where `active` is not complete: some other row is scheduled, running or suspended. `null`: it was not asked for. */
  readonly othersGoOn: boolean | null
  /** The latest ended forward attempt of each node, where the caller asked for it. */
  readonly latest: ReadonlyMap<string, LatestEnding> | null
  /** Ended attempts that are not kept any longer, by id, where it was asked for them: so many as one change removes. */
  readonly outworn: readonly string[]
  /** The latest ended attempts of the parents of a node that is about to start. */
  readonly parents: ReadonlyMap<string, LatestEnding>
  /** What a rollback goes by, where it was asked for. */
  readonly undo: UndoFacts | null
  /** Decisions on the executions that were asked about, in order. */
  readonly decisions: readonly DecisionRecord[]
  /** Signals for the nodes that were asked about, oldest first: those that nobody has taken, and those that were asked for by key or id. */
  readonly signals: readonly SignalRecord[]
  /** Open dead letters. */
  readonly letters: readonly LetterRecord[]
  /** What became of starts in the same transaction, by the id of the order. */
  readonly started: ReadonlyMap<string, StartResult>
  /** Other workflows that were asked for. */
  readonly others: ReadonlyMap<string, WorkflowRecord>
  /** Counters that were asked for; one that is not here has not been begun. */
  readonly fanIns: ReadonlyMap<string, number>
  /** Executions that were asked about and stand in history already, by id. */
  readonly ended: ReadonlyMap<string, EndedExecution>
  /** The time at which what is decided will be written; missing where that is not known beforehand. */
  readonly now?: number
}

/** What an execution came to. */
export interface EndedExecution {
  /** The worker that had claimed it. Others may have ended it all the same: whoever took it over, or has stopped the workflow. */
  readonly owner: string | null
  readonly state: EndedState
  readonly outcome: Outcome
}

/** Facts that nobody has looked at. */
export interface AssumedFacts extends WorkflowFacts {
  /** Nodes none of whose parents has been counted down, so that none of them has a counter. */
  readonly uncounted: readonly string[]
  /** Counters that were begun before, as `fanIns` has them, and what is counted down of each. */
  readonly counted: readonly (CountedDown & { readonly leaves: 'some' | 'none' })[]
}

export type StartResult =
  /** `claimedAt`: its first row, which was to begin in progress, does so since then. */
  | { readonly kind: 'started'; readonly workflow: WorkflowRecord; readonly claimedAt?: number }
  /** Another workflow of the type is active for the hero. */
  | { readonly kind: 'active'; readonly workflow: WorkflowRecord }
  /** The idempotency key belongs to an earlier workflow. */
  | { readonly kind: 'keyed'; readonly workflow: WorkflowRecord; readonly input: string | null }

export interface LatestEnding {
  readonly id: string
  readonly node: string
  readonly attempt: number
  readonly ordinal: number
  readonly state: EndedState
  readonly outcome: Outcome
  /** Why it ended so; of a condition, what it came to. */
  readonly reason: string | null
  readonly progress: Progress
  readonly input: string | null
  readonly ancestry: Ancestry
}

/** An ended forward attempt, as a rollback sees it. */
export type UndoRow = Pick<
  LatestEnding,
  'id' | 'node' | 'attempt' | 'ordinal' | 'state' | 'outcome' | 'reason' | 'ancestry'
> & {
  readonly startedAt: number | null
  /** Missing where this change ends it. */
  readonly endedAt?: number | null
  /** It has thrown, or it is a resumable step that has done some of its items: something of it may have happened. */
  readonly hasActed: boolean
  /** What it worked on, unless it is an item: of one that was cut off that may tell more. */
  readonly input?: string | null
  readonly nodeName?: string | null
  /** The number of the event of its end, where that has been written. */
  readonly place?: number | null
}

/** A compensation that has ended, and the execution that it was to undo. */
export interface TriedUndo {
  readonly id: string
  readonly node: string
  readonly attempt: number
  readonly outcome: Outcome
  readonly undoes: string
}

export interface UndoFacts {
  /** In the order of their ends, newest first. */
  readonly rows: readonly UndoRow[]
  /** Further attempts at the nodes of these rows, where not all rows are shown. Nothing of them is undone by this decision. */
  readonly others: readonly UndoRow[]
  /** At the nodes of these rows. */
  readonly tried: readonly TriedUndo[]
  /** `rows` is all that the workflow has done. */
  readonly isWhole: boolean
}
