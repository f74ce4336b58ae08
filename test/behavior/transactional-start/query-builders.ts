/** Applications on Kysely, Knex and Drizzle: the same code for every database that these speak to. */
import { type SQL, sql } from 'drizzle-orm'
import type { Knex } from 'knex'
import type { Kysely, Transaction } from 'kysely'
import { type Application, committed } from './application.ts'

interface Notes {
  application_notes: { note: string }
}

/** The same table by the name that Kysely's plugin for camel case turns into its own. */
interface CamelCaseNotes {
  applicationNotes: { note: string }
}

export function kyselyApplication(db: Kysely<CamelCaseNotes>): Application<Transaction<CamelCaseNotes>> {
  return {
    transaction: work => db.transaction().execute(work),
    note: (tx, note) => tx.insertInto('applicationNotes').values({ note }).execute(),
    root: db,
    close: () => db.destroy(),
  }
}

/** With a transaction that is begun and ended by hand. */
export function controlledKyselyApplication(db: Kysely<Notes>): Application<Transaction<Notes>> {
  return {
    transaction: async work => {
      const transaction = await db.startTransaction().execute()
      return committed(() => work(transaction), {
        commit: () => transaction.commit().execute(),
        rollback: () => transaction.rollback().execute(),
      })
    },
    note: (tx, note) => tx.insertInto('application_notes').values({ note }).execute(),
    root: db,
    close: () => db.destroy(),
  }
}

export function knexApplication(db: Knex): Application<Knex.Transaction> {
  return {
    transaction: work => db.transaction(work),
    note: async (tx, note) => tx('application_notes').insert({ note }),
    root: db,
    close: () => db.destroy(),
  }
}

/** Drizzle has a class for each database, and no type that says what they have in common. */
interface DrizzleDatabase {
  transaction(work: (transaction: any) => Promise<any>): Promise<any>
}

/** Sends a statement through a transaction, where the database's class calls it so. */
export const execute = (tx: { execute(statement: SQL): Promise<unknown> }, statement: SQL) => tx.execute(statement)

export function drizzleApplication<Tx extends object>(
  db: DrizzleDatabase,
  run: (transaction: Tx, statement: SQL) => Promise<unknown>,
  close: () => Promise<unknown>,
): Application<Tx> {
  return {
    transaction: work => db.transaction(work),
    note: (tx, text) => run(tx, sql`insert into application_notes (note) values (${text})`),
    root: db,
    close,
  }
}
