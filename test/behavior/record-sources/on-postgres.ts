/** The libraries that speak to PostgreSQL. */
import { and, eq, getTableColumns, sql } from 'drizzle-orm'
import { drizzle as onNodePostgres } from 'drizzle-orm/node-postgres'
import { doublePrecision, integer, pgTable, timestamp, varchar } from 'drizzle-orm/pg-core'
import { drizzle as onPostgresJs } from 'drizzle-orm/postgres-js'
import knex from 'knex'
import { CamelCasePlugin, Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import postgres from 'postgres'
import { fromDrizzle, fromKysely, fromSql } from '../../../src/index.ts'
import { type Library, type OpenLibrary, selectReadings, type Wanted } from './readings.ts'

const readings = pgTable('readings', {
  id: integer().primaryKey(),
  label: varchar().notNull(),
  series: varchar().notNull(),
  taken_at: timestamp({ withTimezone: true }).notNull(),
  score: doublePrecision().notNull(),
  noted_at: timestamp({ withTimezone: true }),
})

function drizzleLibrary(db: ReturnType<typeof onNodePostgres>, close: () => Promise<unknown>): Library {
  return {
    close,
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
}

export const postgresLibraries: Readonly<Record<string, OpenLibrary>> = {
  'fromSql with pg': url => {
    const pool = new pg.Pool({ connectionString: url })
    return {
      close: () => pool.end(),
      readings: ({ series, ...rest }) =>
        fromSql({
          ...rest,
          select: `${selectReadings} $1; `,
          values: [series],
          id: 'id',
          query: async (text, values) => (await pool.query(text, values)).rows,
        }),
    }
  },
  'fromSql with postgres': url => {
    const client = postgres(url)
    return {
      close: () => client.end(),
      readings: ({ series, ...rest }) =>
        fromSql({
          ...rest,
          select: `${selectReadings} $1 -- a comment at the end`,
          values: [series],
          id: 'id',
          query: (text, values) => client.unsafe(text, values as string[]),
        }),
    }
  },
  'fromSql with Knex': url => {
    const db = knex({ client: 'pg', connection: url })
    return {
      close: () => db.destroy(),
      readings: ({ series, ...rest }) =>
        fromSql({
          ...rest,
          select: `${selectReadings} ?`,
          values: [series],
          id: 'id',
          placeholder: '?',
          query: async (text, values) => (await db.raw(text, values as string[])).rows,
        }),
    }
  },
  fromKysely: url => {
    const db = new Kysely<any>({ dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: url }) }) })
    return {
      close: () => db.destroy(),
      readings: ({ series, ...rest }) =>
        fromKysely(db.selectFrom('readings').selectAll().where('series', '=', series), { ...rest, id: 'id' }),
    }
  },
  'fromKysely with names in camel case, in a join': url => {
    const dialect = new PostgresDialect({ pool: new pg.Pool({ connectionString: url }) })
    const db = new Kysely<any>({ dialect, plugins: [new CamelCasePlugin()] })
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
    return drizzleLibrary(onNodePostgres(pool), () => pool.end())
  },
  'fromDrizzle with postgres': url => {
    const client = postgres(url)
    return drizzleLibrary(onPostgresJs(client) as any, () => client.end())
  },
}
