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
  'better-sqlite3': url => handleApplication(new BetterSqlite(pathOf(url))),
  Kysely: url => {
    const dialect = new SqliteDialect({ database: new BetterSqlite(pathOf(url)) })
    return kyselyApplication(new Kysely({ dialect, plugins: [new CamelCasePlugin()] }))
  },
  'Drizzle on libsql': url => {
    const client = new LibsqlClient(pathOf(url))
    const run = (tx: { run(statement: SQL): Promise<unknown> }, statement: SQL) => tx.run(statement)
    return drizzleApplication(construct(client), run, async () => client.close())
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
    note: async (_handle, text) => handle.prepare(insertNote).run(text),
    root: handle,
    close: async () => handle.close(),
  }
}
