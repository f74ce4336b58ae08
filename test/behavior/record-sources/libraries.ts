/** The readings through each kind of library, once for all databases that it speaks to. */
import { and, eq, getTableColumns, sql } from 'drizzle-orm'
import type { Kysely } from 'kysely'
import { fromDrizzle, fromKysely, fromSql } from '../../../src/index.ts'
import type { Library, ReadingRow } from './readings.ts'

const select = 'select id, label, series, taken_at, score, noted_at from readings where series ='

interface PlainClient {
  /** What stands in the statement for its one value, and what may follow it. */
  readonly ending: '?' | `$1${string}`
  query(text: string, values: unknown[]): PromiseLike<readonly ReadingRow[]>
  close(): Promise<unknown>
}

export function sqlLibrary({ ending, query, close }: PlainClient): Library {
  return {
    close,
    readings: ({ series, ...rest }) =>
      fromSql({
        ...rest,
        select: `${select} ${ending}`,
        values: [series],
        id: 'id',
        ...(ending === '?' && { placeholder: '?' }),
        query,
      }),
  }
}

export function kyselyLibrary(db: Kysely<{ readings: ReadingRow }>): Library {
  return {
    close: () => db.destroy(),
    readings: ({ series, ...rest }) =>
      fromKysely(db.selectFrom('readings').selectAll().where('series', '=', series), { ...rest, id: 'id' }),
  }
}

/** Drizzle has a builder and a table for each database, and no type that says what they have in common. */
interface DrizzleClient {
  readonly db: { select(columns: object): any }
  readonly readings: any
  close(): Promise<unknown>
}

export function drizzleLibrary({ db, readings, close }: DrizzleClient): Library {
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
