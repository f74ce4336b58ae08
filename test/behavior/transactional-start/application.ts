/**
 * An application with a table of its own, seen through one database library. Every library is used as its own
 * documentation says, with the settings that are most likely to be in our way.
 */

export interface Application<Transaction extends object = any> {
  /** Commits what `work` did when it returns, and undoes it when it throws. */
  transaction<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>
  /** A write of the application, through the library. */
  note(transaction: Transaction, text: string): Promise<unknown>
  /** Any statement of the application without values, through the library. */
  run(transaction: Transaction, statement: string): Promise<unknown>
  /** What someone might pass by mistake instead of a transaction. */
  readonly root: object
  close(): Promise<unknown>
}

/** How strictly transactions are kept apart, where it is not to be what library and server do by default. */
export type Isolation = 'serializable'

/** Opens a library on the database at the address. */
export type OpenApplication = (url: string, isolation?: Isolation) => Promise<Application> | Application

export const notesTable = 'create table application_notes (note varchar(100) not null)'

/** For libraries that want to be given a text with values. */
export const insertNote = 'insert into application_notes (note) values (?)'

interface Ends {
  commit(): unknown
  rollback(): unknown
}

/** For drivers that leave it to the application to end what it has begun. */
export async function committed<T>(work: () => Promise<T>, { commit, rollback }: Ends): Promise<T> {
  try {
    const result = await work()
    await commit()
    return result
  } catch (error) {
    await rollback()
    throw error
  }
}
