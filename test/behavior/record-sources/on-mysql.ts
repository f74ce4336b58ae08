/** The libraries that speak to MySQL and MariaDB. */
import { datetime, double, int, mysqlTable, varchar } from 'drizzle-orm/mysql-core'
import { drizzle } from 'drizzle-orm/mysql2'
import { Kysely, MysqlDialect } from 'kysely'
import mysql, { type RowDataPacket } from 'mysql2'
import promises from 'mysql2/promise'
import { drizzleLibrary, kyselyLibrary, sqlLibrary } from './libraries.ts'
import type { Library, OpenLibrary, ReadingRow } from './readings.ts'

const readings = mysqlTable('readings', {
  id: int().primaryKey(),
  label: varchar({ length: 20 }).notNull(),
  series: varchar({ length: 20 }).notNull(),
  taken_at: datetime({ fsp: 6 }).notNull(),
  score: double().notNull(),
  noted_at: datetime({ fsp: 6 }),
})

function mysql2Library(url: string, verb: 'query' | 'execute'): Library {
  const pool = promises.createPool(url)
  const send = (verb === 'query' ? pool.query : pool.execute).bind(pool) as typeof pool.query
  return sqlLibrary({
    ending: '?',
    query: async (text, values) => (await send<(ReadingRow & RowDataPacket)[]>(text, values))[0],
    close: () => pool.end(),
  })
}

export const mysqlLibraries: Readonly<Record<string, OpenLibrary>> = {
  'fromSql with mysql2, as text': url => mysql2Library(url, 'query'),
  'fromSql with mysql2, prepared': url => mysql2Library(url, 'execute'),
  fromKysely: url => kyselyLibrary(new Kysely({ dialect: new MysqlDialect({ pool: mysql.createPool(url) }) })),
  fromDrizzle: url => {
    const pool = promises.createPool(url)
    return drizzleLibrary({ db: drizzle(pool), readings, close: () => pool.end() })
  },
}
