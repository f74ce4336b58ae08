/**
 * Runs a transaction until it is through; a transaction that must be repeated is repeated as a whole.
 */
import type { Database, Transaction } from './dialect.ts'
import { type RetryLimits, retrying } from './retrying.ts'

/** `work` gets the number of the try, from 1: after a lost connection an earlier try may have been committed. */
export function runTransaction<T>(
  database: Database,
  work: (transaction: Transaction, attempt: number) => Promise<T>,
  limits?: RetryLimits,
): Promise<T> {
  return retrying(database.dialect, attempt => database.transaction(transaction => work(transaction, attempt)), limits)
}
