/** What is told where the transaction that was begun is not there any more when its outcome is to be written. */
import { InvalidArgumentError } from '../../errors.ts'
import type { Dialect } from './dialect.ts'
import { hasLostTransaction } from './is-transient.ts'

const hasEnded =
  'The transaction of the step has ended, or has failed, before the step did. Leave commit and rollback to Geneva, run no statement in it that commits by itself (like CREATE TABLE on some databases), and do not go on after a statement that has failed.'

/** The error, or what it means if it says that the transaction is gone. */
export function orEnded(dialect: Dialect, error: unknown): unknown {
  return hasLostTransaction(dialect, error) ? new InvalidArgumentError(hasEnded, { cause: error }) : error
}
