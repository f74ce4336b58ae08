/** What a list of executions of all workflows is narrowed by, and what is told of each. */
import type { EndedExecution, ExecutionState, HeroKey, Outcome } from './records.ts'

/** Where executions of some states stand: among the active rows, in history, or in history while a compensation runs. */
export type ExecutionSource = 'active' | 'ended' | 'undone'

export interface ExecutionFilter {
  readonly source: ExecutionSource
  readonly states: readonly ExecutionState[]
  readonly types?: readonly string[]
  /** A node, by its id or its name, and its items. */
  readonly node?: string
  /** Of active rows: in this queue. */
  readonly queue?: string
  /** Of active rows: whether their time has come. */
  readonly due?: boolean
  readonly before?: ExecutionPlace
}

/** Where an execution stands in its list: by its own id in history, else by the key of an active row. */
export type ExecutionPlace = { readonly id: string } | { readonly workflowId: string; readonly slot: string }

/** One attempt at a node without its payloads, with the workflow that it belongs to. */
export interface ExecutionRecord
  extends Pick<
    EndedExecution,
    | 'id'
    | 'workflowId'
    | 'node'
    | 'nodeName'
    | 'kind'
    | 'attempt'
    | 'createdAt'
    | 'dueAt'
    | 'startedAt'
    | 'owner'
    | 'reason'
  > {
  readonly place: ExecutionPlace
  readonly state: ExecutionState
  readonly outcome: Outcome | null
  readonly endedAt: number | null
  readonly type: string
  readonly hero: HeroKey | null
  /** `null` once it has ended. */
  readonly queue: string | null
  readonly priority: number | null
  readonly error: { readonly className: string; readonly message: string } | null
  readonly completed: number
  readonly total: number | null
  readonly runs: number
}

export interface ExecutionScan {
  readonly found: readonly ExecutionRecord[]
  /** Go on behind this place; `null`: nothing is left. */
  readonly next: ExecutionPlace | null
}
