/**
 * Says what must hold inside the engine. Not for checking what users pass in: their mistakes have errors of their own.
 */
import { InvariantError } from '../errors.ts'

/** Throws `InvariantError` unless the condition is truthy. The message is a whole sentence that names the ids at hand. */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new InvariantError(message)
}
