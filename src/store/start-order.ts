/** What the store is asked for when a workflow is to be started. */
import type { Due, Ending, FanIn, NewEvent, NewExecution } from './change.ts'
import type { HeroKey, ParentKey } from './records.ts'

/** A workflow to be started, with its first row. The ids are given, so that a repeated call finds its own work. */
export interface StartOrder {
  readonly id: string
  readonly type: string
  readonly hero: HeroKey | null
  readonly input: string | null
  readonly allowMultiple: boolean
  readonly idempotencyKey: string | null
  /** Other names under which a workflow would stand in its way: those that the class had before. */
  readonly formerTypes: readonly string[]
  /** The idempotency key that it would have had under such a name, where that is another one. */
  readonly formerKeys?: ReadonlyMap<string, string | null>
  readonly tags: readonly string[]
  /** The key that limits of its class count by; empty where nothing is said. */
  readonly lane?: string
  readonly generation: number
  /** A graph of its own, which then takes precedence over the class. */
  readonly graph: StoredFrozenGraph | null
  readonly parent: (ParentKey & { readonly timerId: string }) | null
  /**
   * The rows of the nodes that depend on nothing. Without any the workflow is finished from the start. A row that has an owner
   * begins in progress if that worker is alive and nothing else stands in the way, else it is scheduled.
   */
  readonly first: readonly NewExecution[]
  /** Who started it, and why, where somebody said so. */
  readonly asked?: { readonly by: string | null; readonly reason: string | null }
  /** Where in a trace it was started, for those who trace. */
  readonly trace?: string | null
  /** When it must have ended. The row of the timer for that is among the first. */
  readonly deadline: Due | null
  /** What it takes over from an earlier workflow. */
  readonly taken: TakenOver | null
}

/** Nodes that are done as soon as the workflow exists, and what follows from that. */
export interface TakenOver {
  readonly endings: readonly Ending[]
  readonly fanIns: readonly FanIn[]
  readonly events: readonly NewEvent[]
}

/** A graph that was frozen at creation, encoded. */
export interface StoredFrozenGraph {
  readonly signature: string
  readonly graph: string
}
