/** The libraries that speak to PostgreSQL. */
import { PrismaPg } from '@prisma/adapter-pg'
import * as nodePostgres from 'drizzle-orm/node-postgres'
import * as postgresJs from 'drizzle-orm/postgres-js'
import knex from 'knex'
import { CamelCasePlugin, Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import postgres from 'postgres'
import { type Application, committed, type Isolation, type OpenApplication } from './application.ts'
import { prismaApplication, prismaClient } from './prisma-application.ts'
import {
  controlledKyselyApplication,
  drizzleApplication,
  execute,
  knexApplication,
  kyselyApplication,
} from './query-builders.ts'

const dialectFor = (url: string) => new PostgresDialect({ pool: new pg.Pool({ connectionString: url }) })

export const postgresLibraries: Readonly<Record<string, OpenApplication>> = {
  'a pg client': async (url, isolation) => {
    const client = new pg.Client(url)
    await client.connect()
    const transaction = <T>(work: (client: pg.Client) => Promise<T>) =>
      inTransaction(client, () => work(client), isolation)
    return pgApplication(client, transaction, new pg.Pool())
  },
  'a client of a pg pool': (url, isolation) => {
    const pool = new pg.Pool({ connectionString: url })
    const transaction = async <T>(work: (client: pg.PoolClient) => Promise<T>) => {
      const client = await pool.connect()
      return inTransaction(client, () => work(client), isolation).finally(() => client.release())
    }
    return pgApplication(pool, transaction, pool)
  },
  'postgres.js': (url, isolation) => {
    const client = postgres(url, { max: 2, transform: postgres.camel, fetch_types: false })
    return {
      // Its own type says what becomes of an array of promises, which nobody returns here.
      transaction: work => client.begin(levelOf(isolation), work) as Promise<any>,
      note: (tx: postgres.TransactionSql, text) => tx`insert into application_notes (note) values (${text})`,
      run: (tx: postgres.TransactionSql, statement) => tx.unsafe(statement),
      root: client,
      close: () => client.end(),
    }
  },
  Kysely: (url, isolation) =>
    kyselyApplication(new Kysely({ dialect: dialectFor(url), plugins: [new CamelCasePlugin()] }), isolation),
  'Kysely, in a transaction that is controlled by hand': (url, isolation) =>
    controlledKyselyApplication(new Kysely({ dialect: dialectFor(url) }), isolation),
  'Drizzle on pg': (url, isolation) => {
    const pool = new pg.Pool({ connectionString: url })
    return drizzleApplication(nodePostgres.drizzle(pool), { isolation, run: execute, close: () => pool.end() })
  },
  'Drizzle on postgres.js': (url, isolation) => {
    const client = postgres(url, { max: 2 })
    return drizzleApplication(postgresJs.drizzle(client), { isolation, run: execute, close: () => client.end() })
  },
  Knex: (url, isolation) =>
    knexApplication(knex({ client: 'pg', connection: url, postProcessResponse: () => 'spoilt' }), isolation),
  Prisma: (url, isolation) =>
    prismaApplication(prismaClient('postgresql', new PrismaPg({ connectionString: url })), '$1', isolation),
}

function pgApplication(
  closed: { end(): Promise<void> },
  transaction: Application['transaction'],
  root: pg.Pool,
): Application<pg.ClientBase> {
  return {
    transaction,
    note: (client, text) => client.query('insert into application_notes (note) values ($1)', [text]),
    run: (client, statement) => client.query(statement),
    root,
    close: () => closed.end(),
  }
}

const levelOf = (isolation?: Isolation) => (isolation ? `isolation level ${isolation}` : '')

async function inTransaction<T>(client: pg.ClientBase, work: () => Promise<T>, isolation?: Isolation): Promise<T> {
  await client.query(`begin ${levelOf(isolation)}`)
  return committed(work, { commit: () => client.query('commit'), rollback: () => client.query('rollback') })
}
