/**
 * What the code of a transactional step receives: a transaction whose writes are committed together with the step's outcome.
 */
import type { Register } from './register.ts'

/** A transaction that Geneva has opened itself, on the database of the workflows. */
export interface SqlTransaction {
  /** Runs a statement in the notation of the database, and returns its rows. */
  query(text: string, values?: readonly unknown[]): Promise<Readonly<Record<string, any>>[]>
  /** The connection of the driver, to be handed to a query builder. Neither commit nor roll back on it. */
  readonly handle: unknown
}

/** In the application's own library where it says so: `interface Register { transaction: Transaction<Tables> }`. */
export type Transaction = Register extends { readonly transaction: infer Registered } ? Registered : SqlTransaction

/** Opens a transaction of the application, hands it to `run`, commits when that resolves and rolls back when it rejects. */
export type OpenTransaction = <Result>(run: (transaction: Transaction) => Promise<Result>) => Promise<Result>
