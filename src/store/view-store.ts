/**
 * What people who look at many workflows need of the store: pages that cost the same however many rows there are. Every
 * read is bounded; what lies beyond a bound is said, never counted. Nothing here changes anything.
 */
import type { ExecutionFilter, ExecutionScan } from './execution-filter.ts'
import type { DecisionRecord, EventRecord, ExecutionKind, ExecutionState, HeroKey, Outcome } from './records.ts'
import type { WorkflowFilter, WorkflowSnapshot } from './workflow-filter.ts'

/** What a list of workflows may be narrowed by, besides what `WorkflowFilter` has. Times are microseconds. */
export interface ViewFilter extends Omit<WorkflowFilter, 'limit'> {
  readonly createdAfter?: number
  readonly createdBefore?: number
  /** A part of the class or message of an error that an attempt has failed with. */
  readonly errorText?: string
  /** The id of a workflow, or the beginning of the id of its hero. */
  readonly search?: string
  /** Workflows that nodes of this one have started. */
  readonly parentId?: string
  /** No id below this one. */
  readonly from?: string
}

export type TimeRange = Pick<ViewFilter, 'createdAfter' | 'createdBefore'>

/** Ids between which all workflows of a stretch of time lie; `null`: no bound is known. */
export interface IdBounds {
  readonly before: string | null
  readonly from: string | null
}

/** A look at a stretch of ids, newest first. */
export interface ScanPage {
  readonly found: readonly WorkflowSnapshot[]
  /** Go on before this id; `null`: nothing is left. */
  readonly next: string | null
  /** More begins with what is searched for than a search looks at: going on does not find the rest. */
  readonly capped: boolean
}

export interface CountPage extends Omit<ScanPage, 'found'> {
  readonly count: number
}

/** What a line about a workflow shows besides the workflow itself. */
export interface WorkflowAside {
  readonly workflowId: string
  readonly updatedAt: number
  /** Up to five of its active rows, in the order of the graph's slots. */
  readonly active: readonly AsideRow[]
  /** What people call the node that keeps others waiting, where that is not its id. */
  readonly blockedByName: string | null
  /** The newest failed attempt. */
  readonly error: { readonly name: string; readonly className: string; readonly message: string } | null
}

export interface AsideRow {
  /** What people call the node. */
  readonly name: string
  readonly queue: string
  readonly priority: number
  readonly dueAt: number
  readonly completed: number
  readonly total: number | null
}

/** One attempt with all that is stored about it. Payloads are encoded. */
export interface AttemptRecord {
  readonly id: string
  readonly node: string
  readonly nodeName: string | null
  readonly kind: ExecutionKind
  readonly attempt: number
  readonly state: ExecutionState
  readonly outcome: Outcome | null
  readonly createdAt: number
  readonly dueAt: number
  readonly startedAt: number | null
  readonly endedAt: number | null
  readonly owner: string | null
  readonly error: { readonly className: string; readonly message: string; readonly stack: string | null } | null
  readonly reason: string | null
  readonly input: string | null
  readonly output: string | null
  readonly cursor: string | null
  readonly completed: number
  readonly total: number | null
  readonly runs: number
  readonly ancestry: string
  readonly parents: readonly string[]
}

/** One attempt in a few words. */
export interface AttemptBrief
  extends Pick<
    AttemptRecord,
    | 'id'
    | 'node'
    | 'kind'
    | 'attempt'
    | 'state'
    | 'outcome'
    | 'dueAt'
    | 'startedAt'
    | 'endedAt'
    | 'completed'
    | 'total'
    | 'runs'
  > {
  readonly error: { readonly className: string; readonly message: string } | null
}

export interface AttemptRead {
  readonly workflowId: string
  readonly node?: string
  readonly offset: number
  readonly limit: number
}

/** A row that waits for something outside, with its workflow. */
export interface WaitingRow {
  readonly snapshot: WorkflowSnapshot
  readonly executionId: string
  readonly node: string
  readonly attempt: number
  /** When it began to wait, which may be long after it was made. */
  readonly since: number
}

/** Behind all rows of the workflow, or behind the one in that slot. */
export interface WaitingPlace {
  readonly workflowId: string
  readonly slot: string | null
}

export interface WaitingPage {
  readonly rows: readonly WaitingRow[]
  readonly next: WaitingPlace | null
}

export interface WorkerView {
  readonly id: string
  readonly host: string
  readonly pid: number
  readonly alive: boolean
  readonly startedAt: number
  readonly leaseUntil: number
  readonly handlers: readonly string[]
  readonly queues: readonly string[] | null
  /** How many executions it holds. */
  readonly running: number
}

export interface DefinitionView {
  readonly type: string
  readonly generation: number
  readonly createdAt: number
}

/** Events of a stretch of time, counted. */
export interface EventTally {
  /** When the stretch begins. */
  readonly at: number
  readonly type: string
  readonly count: number
}

export interface TallyRead {
  readonly after: number
  readonly upTo: number
  readonly types: readonly string[]
  /** Changes from this state are left out. */
  readonly exceptFrom: string
  /** How long a stretch is. */
  readonly everyMicros: number
}

/** Events between two numbers, the ends left out. */
export interface EventsRead {
  readonly after: number
  readonly before?: number
  readonly limit: number
  readonly newest: boolean
}

/** How long a step took, and when it ended. */
export interface TookSample {
  readonly at: number
  readonly took: number
}

export interface ViewStore {
  /** Looks at no more than `window` workflows; `limit` bounds what it returns. */
  scan(filter: ViewFilter, bounds: { readonly limit: number; readonly window: number }): Promise<ScanPage>
  /** In a few looks by the key, so that a list of what is old need not begin at what is new. */
  idBounds(range: TimeRange): Promise<IdBounds>
  /** How many of no more than `window` workflows fit, up to `limit`. */
  count(filter: ViewFilter, bounds: { readonly limit: number; readonly window: number }): Promise<CountPage>
  /** The types of heroes that workflows are about, up to 100. */
  heroTypes(): Promise<readonly string[]>
  /** How the ids of heroes of a type are stored, told by one of them. */
  heroIdKind(type: string): Promise<HeroKey['idKind'] | null>
  asides(workflowIds: readonly string[], withErrors: readonly string[]): Promise<ReadonlyMap<string, WorkflowAside>>
  /** Ended attempts first, in order, then those under way. */
  attempts(read: AttemptRead): Promise<readonly AttemptRecord[]>
  /** Every attempt at every node, ended ones first. */
  briefs(workflowId: string): Promise<readonly AttemptBrief[]>
  /** Rows that wait for people, messages or other workflows, newest workflow first. */
  waiting(after: WaitingPlace | null, bounds: { readonly limit: number; readonly window: number }): Promise<WaitingPage>
  /** Looks at no more than `window` executions; `limit` bounds what it returns. */
  executions(
    filter: ExecutionFilter,
    bounds: { readonly limit: number; readonly window: number },
  ): Promise<ExecutionScan>
  decisionsOn(executionIds: readonly string[]): Promise<readonly DecisionRecord[]>
  workers(): Promise<{ readonly now: number; readonly workers: readonly WorkerView[] }>
  /** The newest graph of every type. */
  definitions(): Promise<readonly DefinitionView[]>
  /** How many workflows are in a stored state, up to `cap`; `ready` counts those that run as well. `more`: there may be others. */
  countState(state: string, cap: number): Promise<{ readonly count: number; readonly more: boolean }>
  /** How many workflows have a row that runs, up to `cap`. */
  countPerforming(cap: number): Promise<number>
  countOpenLetters(cap: number): Promise<number>
  /** The number of the last event of each of these workflows that has one above `after`. */
  latestEvents(
    workflowIds: readonly string[],
    after: number,
  ): Promise<ReadonlyMap<string, { id: number; type: string }>>
  /** Events of these workflows, oldest or newest first. */
  eventsOf(workflowIds: readonly string[], read: EventsRead): Promise<readonly EventRecord[]>
  tallyEvents(read: TallyRead): Promise<readonly EventTally[]>
  sampleTook(read: Pick<TallyRead, 'after' | 'upTo'>, limit: number): Promise<readonly TookSample[]>
}
