/** The libraries that speak to PostgreSQL. */
import { PrismaPg } from '@prisma/adapter-pg'
import * as nodePostgres from 'drizzle-orm/node-postgres'
import * as postgresJs from 'drizzle-orm/postgres-js'
import knex from 'knex'
import { CamelCasePlugin, Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import postgres from 'postgres'
import { type Application, committed, type OpenApplication } from './application.ts'
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
      // Its own type says what becomes of an array of promises, which nobody returns here.
      transaction: work => client.begin(work) as Promise<any>,
      note: (tx: postgres.TransactionSql, text) => tx`insert into application_notes (note) values (${text})`,
      root: client,
      close: () => client.end(),
    }
  },
  Kysely: url => kyselyApplication(new Kysely({ dialect: dialectFor(url), plugins: [new CamelCasePlugin()] })),
  'Kysely, in a transaction that is controlled by hand': url =>
    controlledKyselyApplication(new Kysely({ dialect: dialectFor(url) })),
  'Drizzle on pg': url => {
    const pool = new pg.Pool({ connectionString: url })
    return drizzleApplication(nodePostgres.drizzle(pool), execute, () => pool.end())
  },
  'Drizzle on postgres.js': url => {
    const client = postgres(url, { max: 2 })
    return drizzleApplication(postgresJs.drizzle(client), execute, () => client.end())
  },
  Knex: url => knexApplication(knex({ client: 'pg', connection: url, postProcessResponse: () => 'spoilt' })),
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
  return committed(work, { commit: () => client.query('commit'), rollback: () => client.query('rollback') })
}
