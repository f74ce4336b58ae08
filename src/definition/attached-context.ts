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

/** A constructor that makes nothing, so that a class which extends it gives its private fields to what it is handed. */
const Given = function given(instance: object) {
  return instance
} as unknown as new (
  instance: object,
) => object

/** A private field of the instance: a weak map would do the same, but the collector looks at every entry of it each time. */
class Attached extends Given {
  readonly #attachment: Attachment

  constructor(instance: object, attachment: Attachment) {
    super(instance)
    this.#attachment = attachment
  }

  static of(instance: object): Attachment | null {
    return #attachment in instance ? instance.#attachment : null
  }
}

export function attach(instance: object, attachment: Attachment): void {
  new Attached(instance, attachment)
}

/** What the instance runs for. Throws where it runs for nothing: in a constructor, or made with `new`. */
export function attachmentOf(instance: object, member: string): Attachment {
  const attachment = Attached.of(instance)
  if (attachment) return attachment
  throw new DefinitionError(
    `${instance.constructor.name}: \`${member}\` exists only while a step runs. Do not use it in a constructor or field, and let Geneva or the test kit make the instance.`,
  )
}
