/** The libraries that open SQLite files. Times are text there. */
import { and, eq, getTableColumns, sql } from 'drizzle-orm'
import { integer, real, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { drizzle } from 'drizzle-orm/sqlite-proxy'
import { Kysely, SqliteDialect } from 'kysely'
import { fromDrizzle, fromKysely, fromSql } from '../../../src/index.ts'
import { openSqliteHandle } from '../../../src/store/sqlite/sqlite-driver.ts'
import { BetterSqlite } from '../transactional-start/better-sqlite.ts'
import { type OpenLibrary, selectReadings } from './readings.ts'

const readings = sqliteTable('readings', {
  id: integer().primaryKey(),
  label: text().notNull(),
  series: text().notNull(),
  taken_at: text().notNull(),
  score: real().notNull(),
  noted_at: text(),
})

const pathOf = (url: string) => url.replace(/^sqlite:/, '')

export const sqliteLibraries: Readonly<Record<string, OpenLibrary>> = {
  'fromSql with the SQLite library of the runtime': async url => {
    const handle = await openSqliteHandle(pathOf(url))
    return {
      close: async () => handle.close(),
      readings: ({ series, ...rest }) =>
        fromSql({
          ...rest,
          select: `${selectReadings} ?`,
          values: [series],
          id: 'id',
          placeholder: '?',
          query: async (statement, values) => handle.prepare(statement).all(...(values as string[])) as any[],
        }),
    }
  },
  fromKysely: url => {
    const db = new Kysely<any>({ dialect: new SqliteDialect({ database: new BetterSqlite(pathOf(url)) as any }) })
    return {
      close: () => db.destroy(),
      readings: ({ series, ...rest }) =>
        fromKysely(db.selectFrom('readings').selectAll().where('series', '=', series), { ...rest, id: 'id' }),
    }
  },
  fromDrizzle: async url => {
    const handle = await openSqliteHandle(pathOf(url))
    const db = drizzle(async (statement, params) => ({
      rows: handle
        .prepare(statement)
        .all(...params)
        .map(row => Object.values(row as object)),
    }))
    return {
      close: async () => handle.close(),
      readings: ({ series, by, order }) =>
        fromDrizzle(
          page =>
            db
              .select({ ...getTableColumns(readings), ...page.place })
              .from(readings)
              .where(and(eq(readings.series, series), page.where))
              .orderBy(...page.orderBy)
              .limit(page.limit),
          { ...(by && { by: readings[by] }), ...(order && { order }), id: readings.id, sql },
        ),
    }
  },
}
