/** Checks what `start` was given as input, before anything is written. */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { type InputIssue, InputValidationError, InvalidArgumentError } from '../errors.ts'
import type { WorkflowDefinition } from './workflow-definition.ts'

/**
 * The input as steps will read it. No input is an empty object, so that a schema can fill in its defaults and
 * `this.input` is always an object. Throws `InputValidationError` by the schema's word, or without a schema
 * `InvalidArgumentError` for anything but a plain object.
 */
export async function validateInput(definition: WorkflowDefinition, input: unknown): Promise<unknown> {
  const given = input ?? {}
  if (definition.inputSchema) {
    const result = await definition.inputSchema['~standard'].validate(given)
    if (result.issues) {
      const what = `The input for ${definition.type}`
      throw new InputValidationError(what, result.issues.map(toInputIssue), 'Nothing was started.')
    }
    return result.value
  }
  if (isPlainObject(given)) return given
  throw new InvalidArgumentError(`The input for ${definition.type} must be a plain object, like { currency: 'EUR' }.`)
}

export function toInputIssue({ message, path }: StandardSchemaV1.Issue): InputIssue {
  if (!path || path.length === 0) return { message }
  return { message, path: path.map(part => String(typeof part === 'object' ? part.key : part)).join('.') }
}

/** Objects of another realm, as jest and node:vm make them, are plain as well. */
export function isPlainObject(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}
