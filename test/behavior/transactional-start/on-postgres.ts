/** The libraries that speak to PostgreSQL. */
import { PrismaPg } from '@prisma/adapter-pg'
import { sql } from 'drizzle-orm'
import * as nodePostgres from 'drizzle-orm/node-postgres'
import * as postgresJs from 'drizzle-orm/postgres-js'
import knex from 'knex'
import { CamelCasePlugin, Kysely, PostgresDialect, type Transaction } from 'kysely'
import pg from 'pg'
import postgres from 'postgres'
import type { Application, OpenApplication } from './application.ts'
import { prismaApplication, prismaClient } from './prisma-application.ts'

export const postgresLibraries: Readonly<Record<string, OpenApplication>> = {
  'a pg client': async url => {
    const client = new pg.Client(url)
    await client.connect()
    return pgApplication(client, work => inTransaction(client, () => work(client)), new pg.Pool())
  },
  'a client of a pg pool': url => {
    const pool = new pg.Pool({ connectionString: url })
    const transaction = async <T>(work: (client: pg.PoolClient) => Promise<T>) => {
      const client = await pool.connect()
      return inTransaction(client, () => work(client)).finally(() => client.release())
    }
    return pgApplication(pool, transaction, pool)
  },
  'postgres.js': url => {
    const client = postgres(url, { max: 2, transform: postgres.camel, fetch_types: false })
    return {
      transaction: work => client.begin(work) as Promise<any>,
      note: (tx: postgres.TransactionSql, text) => tx`insert into application_notes (note) values (${text})`,
      root: client,
      close: () => client.end(),
    }
  },
  Kysely: url => {
    const dialect = new PostgresDialect({ pool: new pg.Pool({ connectionString: url }) })
    const db = new Kysely<any>({ dialect, plugins: [new CamelCasePlugin()] })
    return {
      transaction: work => db.transaction().execute(work),
      note: (tx: Transaction<any>, note) => tx.insertInto('applicationNotes').values({ note }).execute(),
      root: db,
      close: () => db.destroy(),
    }
  },
  'Kysely, in a transaction that is controlled by hand': url => {
    const db = new Kysely<any>({ dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: url }) }) })
    return {
      transaction: async work => {
        const transaction = await db.startTransaction().execute()
        try {
          const result = await work(transaction)
          await transaction.commit().execute()
          return result
        } catch (error) {
          await transaction.rollback().execute()
          throw error
        }
      },
      note: (tx: Transaction<any>, note) => tx.insertInto('application_notes').values({ note }).execute(),
      root: db,
      close: () => db.destroy(),
    }
  },
  'Drizzle on pg': url => {
    const pool = new pg.Pool({ connectionString: url })
    return drizzleApplication(nodePostgres.drizzle(pool), () => pool.end())
  },
  'Drizzle on postgres.js': url => {
    const client = postgres(url, { max: 2 })
    return drizzleApplication(postgresJs.drizzle(client), () => client.end())
  },
  Knex: url => {
    const db = knex({ client: 'pg', connection: url, postProcessResponse: () => 'spoilt' })
    return {
      transaction: work => db.transaction(work),
      note: async (tx, note) => tx('application_notes').insert({ note }),
      root: db,
      close: () => db.destroy(),
    }
  },
  Prisma: url => prismaApplication(prismaClient('postgresql', new PrismaPg({ connectionString: url })), '$1'),
}

function pgApplication(
  closed: { end(): Promise<void> },
  transaction: Application['transaction'],
  root: pg.Pool,
): Application<pg.ClientBase> {
  return {
    transaction,
    note: (client, text) => client.query('insert into application_notes (note) values ($1)', [text]),
    root,
    close: () => closed.end(),
  }
}

async function inTransaction<T>(client: pg.ClientBase, work: () => Promise<T>): Promise<T> {
  await client.query('begin')
  try {
    const result = await work()
    await client.query('commit')
    return result
  } catch (error) {
    await client.query('rollback')
    throw error
  }
}

function drizzleApplication(db: any, close: () => Promise<unknown>): Application {
  return {
    transaction: work => db.transaction(work),
    note: (tx, text) => tx.execute(sql`insert into application_notes (note) values (${text})`),
    root: db,
    close,
  }
}
