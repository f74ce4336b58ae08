/** Applications on Kysely, Knex and Drizzle: the same code for every database that these speak to. */
import { type SQL, sql } from 'drizzle-orm'
import type { Knex } from 'knex'
import { type Kysely, sql as kyselySql, type Transaction } from 'kysely'
import { type Application, committed, type Isolation } from './application.ts'

interface Notes {
  application_notes: { note: string }
}

/** The same table by the name that Kysely's plugin for camel case turns into its own. */
interface CamelCaseNotes {
  applicationNotes: { note: string }
}

export function kyselyApplication(
  db: Kysely<CamelCaseNotes>,
  isolation?: Isolation,
): Application<Transaction<CamelCaseNotes>> {
  const begin = () => (isolation ? db.transaction().setIsolationLevel(isolation) : db.transaction())
  return {
    transaction: work => begin().execute(work),
    note: (tx, note) => tx.insertInto('applicationNotes').values({ note }).execute(),
    run: (tx, statement) => kyselySql.raw(statement).execute(tx),
    root: db,
    close: () => db.destroy(),
  }
}

/** With a transaction that is begun and ended by hand. */
export function controlledKyselyApplication(db: Kysely<Notes>, isolation?: Isolation): Application<Transaction<Notes>> {
  const begin = () => (isolation ? db.startTransaction().setIsolationLevel(isolation) : db.startTransaction())
  return {
    transaction: async work => {
      const transaction = await begin().execute()
      return committed(() => work(transaction), {
        commit: () => transaction.commit().execute(),
        rollback: () => transaction.rollback().execute(),
      })
    },
    note: (tx, note) => tx.insertInto('application_notes').values({ note }).execute(),
    run: (tx, statement) => kyselySql.raw(statement).execute(tx),
    root: db,
    close: () => db.destroy(),
  }
}

export function knexApplication(db: Knex, isolation?: Isolation): Application<Knex.Transaction> {
  return {
    transaction: work => db.transaction(work, isolation && { isolationLevel: isolation }),
    note: async (tx, note) => tx('application_notes').insert({ note }),
    run: async (tx, statement) => tx.raw(statement),
    root: db,
    close: () => db.destroy(),
  }
}

/** Drizzle has a class for each database, and no type that says what they have in common. */
interface DrizzleDatabase {
  transaction(work: (transaction: any) => Promise<any>, settings?: any): Promise<any>
}

interface DrizzleParts<Tx extends object> {
  readonly isolation?: Isolation | undefined
  run(transaction: Tx, statement: SQL): Promise<unknown>
  close(): Promise<unknown>
}

/** Sends a statement through a transaction, where the database's class calls it so. */
export const execute = (tx: { execute(statement: SQL): Promise<unknown> }, statement: SQL) => tx.execute(statement)

export function drizzleApplication<Tx extends object>(
  db: DrizzleDatabase,
  { isolation, run, close }: DrizzleParts<Tx>,
): Application<Tx> {
  return {
    transaction: work => db.transaction(work, isolation && { isolationLevel: isolation }),
    note: (tx, text) => run(tx, sql`insert into application_notes (note) values (${text})`),
    run: (tx, statement) => run(tx, sql.raw(statement)),
    root: db,
    close,
  }
}
