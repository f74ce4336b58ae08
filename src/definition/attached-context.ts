/**
 * Ties an instance to the execution it runs for, out of reach of user code, so that the instance itself can be
 * frozen and has no member that a user's class could meet.
 */
import { DefinitionError } from '../errors.ts'
import type { StepContext } from './step-context.ts'
import type { WorkflowDefinition } from './workflow-definition.ts'

export interface Attachment {
  readonly definition: WorkflowDefinition
  readonly context: StepContext
}

const attachments = new WeakMap<object, Attachment>()

export function attach(instance: object, attachment: Attachment): void {
  attachments.set(instance, attachment)
}

/** What the instance runs for. Throws where it runs for nothing: in a constructor, or made with `new`. */
export function attachmentOf(instance: object, member: string): Attachment {
  const attachment = attachments.get(instance)
  if (attachment) return attachment
  throw new DefinitionError(
    `${instance.constructor.name}: \`${member}\` exists only while a step runs. Do not use it in a constructor or field, and let Geneva or the test kit make the instance.`,
  )
}
