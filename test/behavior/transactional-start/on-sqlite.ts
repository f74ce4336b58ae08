/** The libraries that open SQLite files. */
import { sql } from 'drizzle-orm'
// Declared as internal: the public entry would load the libsql package.
// @ts-expect-error
import { construct } from 'drizzle-orm/libsql/driver-core'
import knex from 'knex'
// @ts-expect-error Knex declares no types for it.
import BetterSqliteClient from 'knex/lib/dialects/better-sqlite3/index.js'
import { CamelCasePlugin, Kysely, SqliteDialect, type Transaction } from 'kysely'
import { insertNote, type OpenApplication } from './application.ts'
import { BetterSqlite } from './better-sqlite.ts'
import { prismaApplication, prismaClient } from './prisma-application.ts'
import { LibsqlClient, SqliteAdapterFactory } from './sqlite-clients.ts'
import { DatabaseSync, pathOf } from './sqlite-library.ts'

export const sqliteLibraries: Readonly<Record<string, OpenApplication>> = {
  'the interface of node:sqlite': url => handleApplication(new DatabaseSync(pathOf(url))),
  'the interface of node:sqlite, set to bigints and arrays': url =>
    handleApplication(new DatabaseSync(pathOf(url), { readBigInts: true, returnArrays: true })),
  'better-sqlite3': url => handleApplication(new BetterSqlite(pathOf(url))),
  Kysely: url => {
    const dialect = new SqliteDialect({ database: new BetterSqlite(pathOf(url)) as any })
    const db = new Kysely<any>({ dialect, plugins: [new CamelCasePlugin()] })
    return {
      transaction: work => db.transaction().execute(work),
      note: (tx: Transaction<any>, note) => tx.insertInto('applicationNotes').values({ note }).execute(),
      root: db,
      close: () => db.destroy(),
    }
  },
  'Drizzle on libsql': url => {
    const client = new LibsqlClient(pathOf(url))
    const db = construct(client as any)
    return {
      transaction: work => db.transaction(work),
      note: (tx, text) => tx.run(sql`insert into application_notes (note) values (${text})`),
      root: db,
      close: async () => client.close(),
    }
  },
  Knex: url => {
    class Client extends BetterSqliteClient {
      _driver() {
        return BetterSqlite
      }
    }
    const connection = { filename: pathOf(url) }
    const db = knex({ client: Client as any, connection, useNullAsDefault: true, postProcessResponse: () => 'spoilt' })
    return {
      transaction: work => db.transaction(work),
      note: async (tx, note) => tx('application_notes').insert({ note }),
      root: db,
      close: () => db.destroy(),
    }
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
      try {
        const result = await work(handle)
        handle.exec('commit')
        return result
      } catch (error) {
        handle.exec('rollback')
        throw error
      }
    },
    note: async (_handle, text) => handle.prepare(insertNote).run(text),
    root: handle,
    close: async () => handle.close(),
  }
}
