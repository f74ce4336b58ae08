/** What a list of workflows is narrowed by, and how a workflow looks at one moment. */
import type { HeroKey, WorkflowRecord, WorkflowState } from './records.ts'

export interface WorkflowFilter {
  readonly types?: readonly string[]
  readonly states?: readonly WorkflowState[]
  /** `null`: workflows without a hero. */
  readonly hero?: HeroKey | null
  readonly at?: string
  readonly tag?: string
  readonly before?: string
  readonly limit: number
}

export interface WorkflowSnapshot {
  readonly workflow: WorkflowRecord
  readonly performing: boolean
}
