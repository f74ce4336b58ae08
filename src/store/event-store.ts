/**
 * What those who watch need of the store: the record of events across workflows, what was just committed, and all that is
 * stored about a workflow at once. Nothing here changes anything.
 */
import type { NewEvent } from './change.ts'
import type { ActiveExecution, EndedExecution, EventRecord, LetterRecord, WorkflowRecord } from './records.ts'

export interface EventStore {
  /** Events of all workflows in the order of their numbers, never past one that may still be committed. A page at a time. */
  readEvents(read: EventRead): Promise<EventPage>
  /** A number that no committed event is above. */
  lastEvent(): Promise<number>
  /** Up to where events are final. Never waits: ask again with what was remembered. */
  settleEvents(window: NumberWindow): Promise<Settlement>
  /** Hears of events that this store has written, right after their commit, but not of those in an application's transaction. */
  observe(observer: EventObserver | null): void
  /** Everything about these workflows. `locked`: nobody changes them meanwhile. */
  inspect(workflowIds: readonly string[], locked: boolean): Promise<WorkflowFile[]>
  /** How many events each of these workflows has. */
  countEvents(workflowIds: readonly string[]): Promise<ReadonlyMap<string, number>>
}

/** An event as the process that wrote it knows it. Its number is known only to those who read it. */
export interface CommittedEvent {
  readonly event: NewEvent
  readonly workflowType: string
  readonly at: number
}

export type EventObserver = (events: readonly CommittedEvent[]) => void

export interface EventRead {
  /** The number of the last event that is known. */
  readonly after: number
  readonly types?: readonly string[]
  readonly workflowId?: string
  readonly limit: number
  /** What an earlier read has learned about numbers that were missing. */
  readonly memory: GapMemory | null
}

/** Numbers that were missing when others above them were there, and how to tell that they will never come. */
export interface GapMemory {
  readonly upTo: number
  readonly mark: string
}

/** Numbers of events above `after`; `upTo` has been handed out. */
export interface NumberWindow {
  readonly after: number
  readonly upTo: number
  /** What an earlier look has given. */
  readonly memory: GapMemory | null
}

export interface Settlement {
  /** No number up to this one can still appear. */
  readonly settled: number
  readonly memory: GapMemory | null
}

export interface EventPage {
  readonly events: readonly EventWithType[]
  /** Everything up to here was read: nothing can appear below it any more. */
  readonly position: number
  readonly memory: GapMemory | null
  /** Whether there may be more at once, or soon, because something that comes next is not committed yet. */
  readonly next: 'at once' | 'soon' | 'later'
}

export interface EventWithType extends EventRecord {
  readonly workflowType: string
}

/** All that is stored about one workflow, as of one moment. */
export interface WorkflowFile {
  readonly workflow: WorkflowRecord
  readonly active: readonly ActiveExecution[]
  /** Rows that a claim would find, by id. */
  readonly claimable: ReadonlySet<string>
  /** Rows whose owner is no worker that is known, by id. */
  readonly orphaned: ReadonlySet<string>
  readonly history: readonly EndedExecution[]
  /** Dead letters that are open. */
  readonly letters: readonly LetterRecord[]
  readonly events: readonly EventRecord[]
  readonly fanIns: ReadonlyMap<string, number>
}
