/** The libraries that open SQLite files. Times are text there. */
import { integer, real, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { drizzle } from 'drizzle-orm/sqlite-proxy'
import { Kysely, SqliteDialect } from 'kysely'
import { openSqliteHandle } from '../../../src/store/sqlite/sqlite-driver.ts'
import { BetterSqlite } from '../transactional-start/better-sqlite.ts'
import { pathOf } from '../transactional-start/sqlite-library.ts'
import { drizzleLibrary, kyselyLibrary, sqlLibrary } from './libraries.ts'
import type { OpenLibrary, ReadingRow } from './readings.ts'

const readings = sqliteTable('readings', {
  id: integer().primaryKey(),
  label: text().notNull(),
  series: text().notNull(),
  taken_at: text().notNull(),
  score: real().notNull(),
  noted_at: text(),
})

export const sqliteLibraries: Readonly<Record<string, OpenLibrary>> = {
  'fromSql with the SQLite library of the runtime': async url => {
    const handle = await openSqliteHandle(pathOf(url))
    return sqlLibrary({
      ending: '?',
      query: async (statement, values) => handle.prepare(statement).all(...(values as string[])) as ReadingRow[],
      close: async () => handle.close(),
    })
  },
  fromKysely: url =>
    kyselyLibrary(new Kysely({ dialect: new SqliteDialect({ database: new BetterSqlite(pathOf(url)) }) })),
  fromDrizzle: async url => {
    const handle = await openSqliteHandle(pathOf(url))
    const db = drizzle(async (statement, params) => ({
      rows: handle
        .prepare(statement)
        .all(...params)
        .map(row => Object.values(row as object)),
    }))
    return drizzleLibrary({ db, readings, close: async () => handle.close() })
  },
}
