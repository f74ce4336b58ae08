/** Transactions between the engine and the application: who opens them, and what runs in them. */

/** Opens a transaction of the application and hands it to `run`. Commits when that resolves, rolls back when it rejects. */
export type OpenApplicationTransaction = <Result>(run: (transaction: any) => Promise<Result>) => Promise<Result>

/** Code of the application in its transaction. `abandon`: that of the transaction, for code that is not waited for any longer. */
export type WorkInTransaction<Result> = (transaction: any, abandon: () => boolean) => Promise<Result>

/** A transaction of ours that the application may use. */
export interface UserTransaction {
  query(text: string, values?: readonly unknown[]): Promise<Readonly<Record<string, any>>[]>
  readonly handle: unknown
}

/** A transaction of the application, as its own library hands it out. */
export type TransactionHandle = object

/**
 * Asked where nobody knows whether what was `written` is committed: the answer was lost, or the application's function has not passed it
 * on. Resolves with what it came to, and rejects when nothing was committed: with `error` where that is the reason.
 */
export type FindCommitted<Written> = (written: Written, error: unknown) => Promise<Written>
