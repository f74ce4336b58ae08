/** What the method of a node receives that has waited for a message from outside. */
import type { StandardSchemaV1 } from '@standard-schema/spec'

/** A message that has come. `Payload` is its type, or the schema that it was checked by. */
export interface Signal<Payload = unknown> {
  readonly payload: Payload extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<Payload> : Payload
  /** Who sent it; `null` when the sender did not say. */
  readonly by: string | null
  readonly at: Date
}
