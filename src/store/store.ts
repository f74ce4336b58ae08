/**
 * What the engine needs to be durable. Verbs work on sets; every verb is one transaction, retried as a whole when
 * the database says that it may be, and safe to call again when its answer was lost.
 */
import type {
  FindCommitted,
  OpenApplicationTransaction,
  TransactionHandle,
  WorkInTransaction,
} from './application-transaction.ts'
import type { AssumedFacts, StartResult, WorkflowChange, WorkflowFacts } from './change.ts'
import type { ClaimRequest } from './claim-request.ts'
import type { CloserLook } from './closer-look.ts'

export type {
  FindCommitted,
  OpenApplicationTransaction,
  TransactionHandle,
  UserTransaction,
  WorkInTransaction,
} from './application-transaction.ts'
export type { StartResult } from './change.ts'
export { type ClaimLimits, type ClaimRequest, type ClaimSource, StaleLimits } from './claim-request.ts'
export type { CloserLook, UndoAgain, UndoStretch } from './closer-look.ts'
export type { StartOrder, StoredFrozenGraph, TakenOver } from './start-order.ts'
export type { WorkflowFilter, WorkflowSnapshot } from './workflow-filter.ts'

import type { EventStore } from './event-store.ts'
import type { Hints } from './hints.ts'
import type { HousekeepingStore } from './housekeeping-store.ts'
import type { LimitStore } from './limit-store.ts'
import type { ReadinessFacts } from './readiness-facts.ts'
import type {
  ActiveExecution,
  ClaimedExecution,
  DecisionRecord,
  EndedExecution,
  EventRecord,
  ExecutionKind,
  HeroKey,
  LetterReason,
  LetterRecord,
  LetterState,
  ParentKey,
  Progress,
  SignalRecord,
  StartMark,
  WorkerRecord,
  WorkflowRecord,
} from './records.ts'
import type { RequestStore } from './request-store.ts'
import type { Rounds } from './rounds.ts'
import type { ScheduleStore } from './schedule-store.ts'
import type { StartOrder, StoredFrozenGraph } from './start-order.ts'
import type { ViewStore } from './view-store.ts'
import type { WorkflowFilter, WorkflowSnapshot } from './workflow-filter.ts'

export interface StartCall {
  /** The application's own transaction. */
  readonly transaction?: TransactionHandle
  /** Looks at the results before anything is committed; what it throws undoes the whole call. */
  readonly check?: (results: readonly StartResult[]) => void
  /** An earlier call with these orders may have been committed without its answer arriving. */
  readonly repeated?: boolean
  /** That of the limits under which rows may begin in progress. */
  readonly revision?: number
  /** Rejects where others, such as an open transaction of the application, keep it waiting for so long. Default: a minute. */
  readonly patienceMs?: number
}

/** What an active row is found by. */
export type RowKey = Pick<ActiveExecution, 'workflowId' | 'slot'>

/** A workflow to lock and look at before a change. */
export interface ChangeTarget {
  readonly workflowId: string
  /** Reads these rows only; without it, all rows. */
  readonly slots?: readonly string[]
  /** Rows among those of `slots` that the caller holds: where they still stand under its fence, only what may have changed is read. */
  readonly held?: readonly ActiveExecution[]
  /** Counters to read. */
  readonly fanIns?: readonly string[]
  /** Asks for the latest ended attempt of every node, and for every counter. */
  readonly withLatest?: boolean
  /** Reads these of its open dead letters only; without it, all. */
  readonly letters?: readonly string[]
  /** Keeps the active rows from being changed meanwhile by those who need no lock on the workflow: claims, checkpoints. */
  readonly lockRows?: boolean
  /** An execution that the caller reports on: after a lost answer it is looked up whether it has ended already. */
  readonly settle?: readonly string[]
  /** An earlier call may have been committed without its answer arriving. */
  readonly repeated?: boolean
}

export interface ChangeCall {
  /** The worker that reports. While it holds its lease the decision learns the revision of the limits; it cannot lose it meanwhile. */
  readonly workerId?: string
  /** What is looked for may start workflows, and wait for others: the worker is locked after that, at the cost of a round trip. */
  readonly mayStart?: boolean
  /**
   * Rejects where others, such as an open transaction of the application, keep it waiting for so long, and where the connection has broken
   * twice: whoever calls tries again, and has other things to do meanwhile. Default: a minute, and five times.
   */
  readonly patienceMs?: number
  /** Of one workflow: of those in this process that want the same one, two wait for its lock, and the others without a connection. */
  readonly inLine?: true
  /** Waits for nobody: a workflow that somebody else has locked, or a row of it, is left out. */
  readonly passesLocked?: true
  /** Asked once the counters are known; what it asks for is in the facts of the decision. */
  look?(facts: WorkflowFacts): CloserLook | null
}

/** Who changes what it knows. */
export interface AssumedCall {
  readonly workerId: string
  /** That of the limits which it goes by; `null`: nothing begins, so they do not matter. */
  readonly revision: number | null
}

/** Of which workflows abandoned work is looked for. */
export interface AbandonedWhere {
  readonly except?: readonly string[]
  readonly among?: readonly string[]
}

export interface HeldExecution {
  readonly workflowId: string
  readonly slot: string
  readonly id: string
  readonly fence: number
  /** The workflow is being stopped: the step should end soon. */
  readonly stopping: boolean
  /** The workflow is paused: a resumable step should stop at its next checkpoint. */
  readonly pausing: boolean
}

export interface DefinitionRecord {
  readonly type: string
  readonly signature: string
  readonly graph: string
}

/** A compiled graph, encoded, with its number among those of its type. */
export interface StoredGraph {
  readonly signature: string
  readonly graph: string
  readonly generation: number
}

export interface LetterFilter {
  readonly id?: string
  readonly state?: LetterState
  readonly workflowId?: string
  readonly types?: readonly string[]
  readonly node?: string
  readonly reason?: LetterReason
  readonly before?: string
  readonly limit: number
}

/** A transaction in which code of the application runs. The writes of the engine come last. */
export interface OpenedTransaction {
  /** What the application's code gets to see. */
  readonly handle: unknown
  /** As in the store, but nothing is committed yet, and nobody hears of it before that. */
  readonly change: Store['change']
  readonly checkpoint: Store['checkpoint']
  /**
   * The code was left behind and may still use the connection, which is given up, with whatever it is about to do. False where
   * the connection is the application's: then the transaction must stay open until the code has ended.
   */
  abandon(): boolean
}

/** What bringing the tables up to date takes. */
export interface SchemaPlan {
  /** The version that the tables are at; 0 while there are none. */
  readonly version: number
  /** The version that this code needs. */
  readonly latest: number
  /** The type of the keys, as it is or as it would be. */
  readonly keyType: 'bigint' | 'uuid'
  /** In order; none when the tables are up to date. */
  readonly statements: readonly string[]
}

export interface Store extends EventStore {
  /** Word between processes; missing where the database cannot pass it on, or is not asked to. */
  readonly hints?: Hints
  /** Brings the tables up to date; any number of processes may call it at once. */
  migrate(): Promise<void>
  /** Checks that the tables fit this code without changing them. */
  checkSchema(): Promise<void>
  /** Throws `SchemaError` when newer code has changed the tables so that they do not serve this code any more. One cheap read. */
  refuseOutgrown(): Promise<void>
  /** What `migrate` would do now. */
  planMigrations(): Promise<SchemaPlan>
  close(): Promise<void>
  /** False for an error that may pass: the database is busy or away. */
  isLasting(error: unknown): boolean
  /** Whoever is held up waits for the same as everybody else does. */
  readonly hasOneWriter: boolean

  /** The time of the database in microseconds, with the offset of the test clock. */
  now(): Promise<number>
  /** The same, told without asking where it was asked for not long ago: as well as the clock of this process can tell it since. */
  nearlyNow(): Promise<number>
  /** Moves the clock of this store. For the test kit only. */
  setClockOffset(offsetMs: number): void
  /** Refuses an id that cannot exist, before it reaches a statement. */
  isId(id: string): boolean
  /** Fresh ids; inside the application's transaction they are reserved there. */
  takeIds(count: number, transaction?: TransactionHandle): Promise<string[]>

  start(orders: readonly StartOrder[], options?: StartCall): Promise<StartResult[]>
  claim(request: ClaimRequest): Promise<ClaimedExecution[]>
  /** Writes down how far a resumable step has come; false if the claim is no longer ours. One narrow statement. */
  checkpoint(execution: ActiveExecution, progress: Progress): Promise<boolean>
  /**
   * Runs the application's statements and a checkpoint in one transaction, again when the database asks for it; `lost`, and
   * undone, if the claim is.
   */
  checkpointWith<Result>(
    execution: ActiveExecution,
    progress: Progress,
    work: WorkInTransaction<Result>,
    open?: OpenApplicationTransaction | null,
  ): Promise<{ readonly result: Result } | 'lost'>
  /**
   * One attempt: commits when `work` resolves, rolls back when it rejects. What the work itself came to counts, whatever the function
   * `open` makes of it: a `TransactionUndoneError` gets out as it is, and so does its result, once it is known to be committed. That is
   * for `find` to tell where there was no answer. `open` is `null`: on a connection of ours.
   */
  transact<Written>(
    open: OpenApplicationTransaction | null,
    work: (opened: OpenedTransaction) => Promise<Written>,
    find: FindCommitted<Written>,
  ): Promise<Written>
  /** Whether an error, be it one of the application's library, says that its transaction may be run again. */
  isTransient(error: unknown): boolean
  /** Writes down that user code is about to be called, or that its turn has come; false if the claim is no longer ours. */
  markStarted(execution: ActiveExecution, mark?: Exclude<StartMark, false>): Promise<boolean>
  /**
   * Writes what was decided on facts that the caller knows without a look: workflows with their versions, and rows that it
   * owns. Answers the time of it, or `null`, and nothing is written, when one of them is not as the caller has it.
   */
  changeAssumed(
    facts: readonly AssumedFacts[],
    changes: readonly WorkflowChange[],
    call: AssumedCall,
  ): Promise<number | null>
  /**
   * Locks the workflows in id order, lets `decide` look at each, and applies what it returns. A workflow that does
   * not exist is not shown. Returns what was applied. `revision`: that of the limits, if the worker that reports is alive.
   */
  change(
    targets: readonly ChangeTarget[],
    decide: (facts: WorkflowFacts, revision: number | null) => WorkflowChange | null,
    call?: ChangeCall,
  ): Promise<WorkflowChange[]>

  /** From now on the end of the workflow wakes the watcher's node, once. Tells whether it has ended already. */
  watch(workflowId: string, watcher: ParentKey, timerId: string): Promise<WorkflowRecord | null>

  registerDefinitions(definitions: readonly DefinitionRecord[]): Promise<Map<string, number>>
  findDefinition(type: string): Promise<StoredGraph | null>
  /** Every graph that was ever registered for the types, newest first: rows may stand where only other code knows. */
  allGraphs(types: readonly string[]): Promise<StoredGraph[]>
  /** The graphs that are stored with workflows, by workflow. */
  frozenGraphs(workflowIds: readonly string[]): Promise<Map<string, StoredFrozenGraph>>

  /** Dead letters, newest first. */
  listLetters(filter: LetterFilter): Promise<LetterRecord[]>

  /** Where due rows stand whose handlers begin so, and that no live worker serves. */
  findUnserved(prefix: string): Promise<{ readonly queue: string; readonly handler: string }[]>

  /** The queues in which rows of the handlers stand, whatever code has put them there. */
  queuesOf(handlers: readonly string[]): Promise<string[]>

  /** The same of rows that stand in line, due or not. Of what is held, runs or waits for others it may know nothing; it costs a look per line, however long. */
  queuesInLine(handlers: readonly string[]): Promise<string[]>

  registerWorker(worker: WorkerRecord): Promise<void>
  /**
   * Renews the lease, and tells what the worker holds: all of it, or of the rows that are named. `null` when the lease was lost:
   * everything that the worker held belongs to others.
   */
  heartbeat(workerId: string, leaseMs: number, among?: readonly RowKey[]): Promise<HeldExecution[] | null>
  /** Renews the lease and looks at nothing else; false when it was lost. */
  renewLease(workerId: string, leaseMs: number): Promise<boolean>
  /** Rows claimed by the worker, to adopt a claim whose answer was lost. */
  heldBy(workerId: string): Promise<ClaimedExecution[]>
  retireWorker(workerId: string): Promise<void>
  /**
   * Declares workers dead whose lease has lapsed, and names work that they left, of these handlers only. Never blocks on another
   * process.
   */
  findAbandoned(handlers: readonly string[], limit: number, where?: AbandonedWhere): Promise<ActiveExecution[]>

  /** Workflows that have rows, and whose graph is older than the generation given for their type. */
  findOutdated(generations: ReadonlyMap<string, number>, limit: number): Promise<WorkflowRecord[]>

  /** Everything that readiness is told from, for up to `maxReadinessIds` workflows, as of one moment, in one round trip. */
  readiness(workflowIds: readonly string[]): Promise<ReadinessFacts>

  findWorkflow(id: string): Promise<WorkflowSnapshot | null>
  /** The active workflow of a hero, else the one that was started last, by the database's clock. `null`: of any type. */
  findByHero(types: readonly string[] | null, hero: HeroKey | null): Promise<WorkflowSnapshot | null>
  listWorkflows(filter: WorkflowFilter): Promise<WorkflowSnapshot[]>
  workflowStates(ids: readonly string[]): Promise<Map<string, WorkflowRecord>>
  activeExecutions(workflowId: string): Promise<ActiveExecution[]>
  history(workflowId: string): Promise<EndedExecution[]>
  events(workflowId: string): Promise<EventRecord[]>
  /** Several workflows at once, each with the output of what it completed last. */
  findEnds(ids: readonly string[]): Promise<Map<string, EndOfWorkflow>>
  /** The latest completed attempt of the node, or of whatever node completed last: in this round; with `null`, in any. */
  findOutput(workflowId: string, node: string | null, rounds: Rounds): Promise<{ output: string | null } | null>
  /** The outputs of nodes whose names begin so, of their latest completed attempts, with the rest of the name. */
  findOutputs(workflowId: string, prefix: string, rounds: Rounds): Promise<Map<string, string | null>>
  /** The same for nodes that are numbered, and no more than so many of them. */
  findFirstOutputs(workflowId: string, first: FirstOutputs, rounds: Rounds): Promise<Map<string, string | null>>
  /** What the items of `each` nodes have worked on, of their latest completed attempts, by their names. */
  findItems(workflowId: string, rounds: Rounds): Promise<Map<string, string | null>>
  /** Ended executions by their ids, each with what it came from. */
  findAncestors(ids: readonly string[]): Promise<{ id: string; node: string; parents: readonly string[] }[]>
  /** An ended execution by its id, for whoever undoes it. */
  findEnded(executionId: string): Promise<{
    node: string
    kind: ExecutionKind
    attempt: number
    input: string | null
    output: string | null
  } | null>
  /** An execution that has not ended, by its id. */
  findActive(executionId: string): Promise<ActiveExecution | null>
  /** In the order in which they were made. */
  decisions(of: { readonly workflowId: string } | { readonly executionId: string }): Promise<DecisionRecord[]>
  signals(workflowId: string): Promise<SignalRecord[]>
  findSignal(id: string): Promise<SignalRecord | null>
  input(workflowId: string): Promise<string | null>
  tags(workflowId: string): Promise<string[]>
  /** The earliest time at which something falls due, for the test clock. */
  nextDueAt(workflowId?: string): Promise<number | null>

  readonly schedules: ScheduleStore<StartOrder>
  readonly limits: LimitStore
  readonly housekeeping: HousekeepingStore
  readonly requests: RequestStore
  readonly views: ViewStore
}

/** The nodes that the prefix and a number below the count make. */
export interface FirstOutputs {
  readonly prefix: string
  readonly count: number
}

export interface EndOfWorkflow {
  readonly workflow: WorkflowRecord
  readonly output: string | null
}
