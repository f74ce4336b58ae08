/** The libraries that speak to PostgreSQL. */
import { drizzle as onNodePostgres } from 'drizzle-orm/node-postgres'
import { doublePrecision, integer, pgTable, timestamp, varchar } from 'drizzle-orm/pg-core'
import { drizzle as onPostgresJs } from 'drizzle-orm/postgres-js'
import knex from 'knex'
import { CamelCasePlugin, Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import postgres from 'postgres'
import { fromKysely } from '../../../src/index.ts'
import { drizzleLibrary, kyselyLibrary, sqlLibrary } from './libraries.ts'
import type { OpenLibrary, ReadingRow, Wanted } from './readings.ts'

const readings = pgTable('readings', {
  id: integer().primaryKey(),
  label: varchar().notNull(),
  series: varchar().notNull(),
  taken_at: timestamp({ withTimezone: true }).notNull(),
  score: doublePrecision().notNull(),
  noted_at: timestamp({ withTimezone: true }),
})

const dialectFor = (url: string) => new PostgresDialect({ pool: new pg.Pool({ connectionString: url }) })

export const postgresLibraries: Readonly<Record<string, OpenLibrary>> = {
  'fromSql with pg': url => {
    const pool = new pg.Pool({ connectionString: url })
    return sqlLibrary({
      ending: '$1; ',
      query: async (text, values) => (await pool.query<ReadingRow>(text, values)).rows,
      close: () => pool.end(),
    })
  },
  'fromSql with postgres': url => {
    const client = postgres(url)
    return sqlLibrary({
      ending: '$1 -- a comment at the end',
      query: (text, values) => client.unsafe<ReadingRow[]>(text, values as string[]),
      close: () => client.end(),
    })
  },
  'fromSql with Knex': url => {
    const db = knex({ client: 'pg', connection: url })
    return sqlLibrary({
      ending: '?',
      query: async (text, values) => (await db.raw<{ rows: ReadingRow[] }>(text, values as string[])).rows,
      close: () => db.destroy(),
    })
  },
  fromKysely: url => kyselyLibrary(new Kysely({ dialect: dialectFor(url) })),
  'fromKysely with names in camel case, in a join': url => {
    // Names of columns are put together at run time here, so no type of the table would fit.
    const db = new Kysely<any>({ dialect: dialectFor(url), plugins: [new CamelCasePlugin()] })
    const names = { taken_at: 'takenAt', score: 'score', noted_at: 'notedAt' }
    return {
      close: () => db.destroy(),
      readings: ({ series, by, order }: Wanted) =>
        fromKysely(
          db
            .selectFrom('readings')
            .innerJoin('readings as twin', 'twin.id', 'readings.id')
            .select(['readings.id', 'twin.label'])
            .where('readings.series', '=', series),
          { ...(by && { by: `readings.${names[by]}` as const }), ...(order && { order }), id: 'readings.id' },
        ),
    }
  },
  'fromDrizzle with pg': url => {
    const pool = new pg.Pool({ connectionString: url })
    return drizzleLibrary({ db: onNodePostgres(pool), readings, close: () => pool.end() })
  },
  'fromDrizzle with postgres': url => {
    const client = postgres(url)
    return drizzleLibrary({ db: onPostgresJs(client), readings, close: () => client.end() })
  },
}
