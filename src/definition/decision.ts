/** What people decide, and what the method of a human node receives of it. */
import type { StandardSchemaV1 } from '@standard-schema/spec'

/** What one person said. */
export interface OneDecision<Data = unknown> {
  readonly decision: 'confirmed' | 'rejected'
  readonly by: string
  readonly comment: string | null
  readonly data: Data
  readonly at: Date
}

/** What was decided: the last decision, with which the quorum was reached. `Form` is a schema or the type of the data. */
export interface Decision<Form = unknown> extends OneDecision<FormData<Form>> {
  /** All decisions of the round, in the order in which they were made. */
  readonly decisions: readonly OneDecision<FormData<Form>>[]
}

/** The data that a form yields. */
export type FormData<Form> = Form extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<Form> : Form
