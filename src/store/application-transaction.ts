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
