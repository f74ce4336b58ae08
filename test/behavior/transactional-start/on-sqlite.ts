/** The libraries that open SQLite files. */
import type { SQL } from 'drizzle-orm'
// Declared as internal: the public entry would load the libsql package.
// @ts-expect-error
import { construct } from 'drizzle-orm/libsql/driver-core'
import knex from 'knex'
// @ts-expect-error Knex declares no types for it.
import BetterSqliteClient from 'knex/lib/dialects/better-sqlite3/index.js'
import { CamelCasePlugin, Kysely, SqliteDialect } from 'kysely'
import { committed, insertNote, type OpenApplication } from './application.ts'
import { BetterSqlite } from './better-sqlite.ts'
import { prismaApplication, prismaClient } from './prisma-application.ts'
import { drizzleApplication, knexApplication, kyselyApplication } from './query-builders.ts'
import { LibsqlClient, SqliteAdapterFactory } from './sqlite-clients.ts'
import { DatabaseSync, pathOf } from './sqlite-library.ts'

export const sqliteLibraries: Readonly<Record<string, OpenApplication>> = {
  'the interface of node:sqlite': url => handleApplication(new DatabaseSync(pathOf(url))),
  'the interface of node:sqlite, set to bigints and arrays': url =>
    handleApplication(new DatabaseSync(pathOf(url), { readBigInts: true, returnArrays: true })),
  'the interface of node:sqlite, opened for each transaction': url => {
    const root = new DatabaseSync(pathOf(url))
    return { ...handleApplication(root), transaction: work => inFileOfItsOwn(pathOf(url), work) }
  },
  'better-sqlite3': url => handleApplication(new BetterSqlite(pathOf(url))),
  Kysely: url => {
    const dialect = new SqliteDialect({ database: new BetterSqlite(pathOf(url)) })
    return kyselyApplication(new Kysely({ dialect, plugins: [new CamelCasePlugin()] }))
  },
  'Drizzle on libsql': url => {
    const client = new LibsqlClient(pathOf(url))
    const run = (tx: { run(statement: SQL): Promise<unknown> }, statement: SQL) => tx.run(statement)
    return drizzleApplication(construct(client), { run, close: async () => client.close() })
  },
  Knex: url => {
    class Client extends BetterSqliteClient {
      _driver() {
        return BetterSqlite
      }
    }
    const connection = { filename: pathOf(url) }
    const settings = { connection, useNullAsDefault: true, postProcessResponse: () => 'spoilt' }
    // The class that it extends has no types.
    return knexApplication(knex({ client: Client as unknown as typeof knex.Client, ...settings }))
  },
  Prisma: url => prismaApplication(prismaClient('sqlite', new SqliteAdapterFactory(pathOf(url))), '?'),
}

interface Handle {
  exec(text: string): unknown
  prepare(text: string): { run(...values: any[]): unknown }
  close(): unknown
}

function handleApplication(handle: Handle): ReturnType<OpenApplication> {
  return {
    transaction: async work => {
      handle.exec('begin immediate')
      return committed(() => work(handle), {
        commit: () => handle.exec('commit'),
        rollback: () => handle.exec('rollback'),
      })
    },
    note: async (own: Handle, text) => own.prepare(insertNote).run(text),
    run: async (own: Handle, statement) => own.exec(statement),
    root: handle,
    close: async () => handle.close(),
  }
}

/** As the guide to transactional steps shows it. */
async function inFileOfItsOwn<T>(path: string, run: (file: Handle) => Promise<T>): Promise<T> {
  const file = new DatabaseSync(path)
  try {
    file.exec('begin immediate')
    const result = await run(file)
    file.exec('commit')
    return result
  } catch (error) {
    if (file.isTransaction) file.exec('rollback')
    throw error
  } finally {
    file.close()
  }
}
