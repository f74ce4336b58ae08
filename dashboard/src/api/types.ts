/**
 * What the HTTP API answers with: read off the very shapes that the server holds its answers to, so that the two cannot part.
 * Times are ISO strings in UTC, durations milliseconds, payloads JSON as it is stored.
 */
import type { z } from 'zod'
import type * as wire from '../../../src/http/wire-schemas.ts'

export type Role = 'reader' | 'operator' | 'admin'

export interface Me {
  readonly role: Role
  readonly by: string
  readonly readOnly: boolean
}

export interface Page<T> {
  readonly items: readonly T[]
  readonly nextCursor: string | null
}

export type Items<T> = Pick<Page<T>, 'items'>

export type WorkflowState = z.infer<typeof wire.workflowState>
export type Hero = z.infer<typeof wire.hero>
export type WorkflowSummary = z.infer<typeof wire.workflowSummary>
export type WorkflowPage = z.infer<typeof wire.workflowPage>
export type WorkflowDetail = z.infer<typeof wire.workflowDetail>
export type GraphView = z.infer<typeof wire.graph>
export type GraphNode = GraphView['nodes'][number]
export type GraphEdge = GraphView['edges'][number]
export type Attempt = z.infer<typeof wire.attempt>
export type ErrorRecord = NonNullable<Attempt['error']>
export type WorkflowEvent = z.infer<typeof wire.event>
export type Explanation = z.infer<typeof wire.explanation>
export type RollbackStep = z.infer<typeof wire.rollbackStep>
export type Approval = z.infer<typeof wire.approval>
export type DeadLetter = z.infer<typeof wire.deadLetter>
export type DeadLetterDetail = z.infer<typeof wire.deadLetterDetail>
export type Schedule = z.infer<typeof wire.schedule>
export type Queue = z.infer<typeof wire.queue>
export type OperatorRequest = z.infer<typeof wire.request>
export type WorkerStatus = z.infer<typeof wire.worker>
export type Overview = z.infer<typeof wire.overview>
export type SeriesPoint = Overview['series'][number]
export type Definition = z.infer<typeof wire.definition>
export type DefinitionDetail = z.infer<typeof wire.definitionDetail>
export type HeroView = z.infer<typeof wire.heroPage>

/** What we make of a form's schema: whatever else it says, the server checks. */
export interface JsonSchema {
  readonly type?: string
  readonly title?: string
  readonly description?: string
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly enum?: readonly unknown[]
  readonly default?: unknown
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
}
