/** The libraries that speak to MySQL and MariaDB. */
import { and, eq, getTableColumns, sql } from 'drizzle-orm'
import { datetime, double, int, mysqlTable, varchar } from 'drizzle-orm/mysql-core'
import { drizzle } from 'drizzle-orm/mysql2'
import { Kysely, MysqlDialect } from 'kysely'
import mysql from 'mysql2'
import promises from 'mysql2/promise'
import { fromDrizzle, fromKysely, fromSql } from '../../../src/index.ts'
import { type OpenLibrary, selectReadings } from './readings.ts'

const readings = mysqlTable('readings', {
  id: int().primaryKey(),
  label: varchar({ length: 20 }).notNull(),
  series: varchar({ length: 20 }).notNull(),
  taken_at: datetime({ fsp: 6 }).notNull(),
  score: double().notNull(),
  noted_at: datetime({ fsp: 6 }),
})

function plainLibrary(url: string, verb: 'query' | 'execute'): ReturnType<OpenLibrary> {
  const pool = promises.createPool(url)
  const send = (verb === 'query' ? pool.query : pool.execute).bind(pool) as typeof pool.query
  return {
    close: () => pool.end(),
    readings: ({ series, ...rest }) =>
      fromSql({
        ...rest,
        select: `${selectReadings} ?`,
        values: [series],
        id: 'id',
        placeholder: '?',
        query: async (text, values) => (await send(text, values))[0] as any[],
      }),
  }
}

export const mysqlLibraries: Readonly<Record<string, OpenLibrary>> = {
  'fromSql with mysql2, as text': url => plainLibrary(url, 'query'),
  'fromSql with mysql2, prepared': url => plainLibrary(url, 'execute'),
  fromKysely: url => {
    const db = new Kysely<any>({ dialect: new MysqlDialect({ pool: mysql.createPool(url) }) })
    return {
      close: () => db.destroy(),
      readings: ({ series, ...rest }) =>
        fromKysely(db.selectFrom('readings').selectAll().where('series', '=', series), { ...rest, id: 'id' }),
    }
  },
  fromDrizzle: url => {
    const pool = promises.createPool(url)
    const db = drizzle(pool)
    return {
      close: () => pool.end(),
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
