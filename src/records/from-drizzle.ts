/**
 * Records of a Drizzle query, page by page. A Drizzle query is changed by its own methods and has room for one condition
 * only, so the application makes a new one for every page, from the parts that it is given. Drizzle is not imported.
 */
import type { RecordSource } from '../definition/iteration.ts'
import { InvalidArgumentError } from '../errors.ts'
import { type Direction, directionFrom, type KeysetOptions, keysetSource } from './keyset-source.ts'
import { placeColumns, type RecordPlace, textOfPlace } from './record-place.ts'

type PlaceColumn = (typeof placeColumns)[keyof typeof placeColumns]

interface Aliasable {
  as(alias: string): any
}

/** What a query for one page is made of. */
export interface DrizzlePage<Sql extends Aliasable> {
  /** To be selected besides the record: `db.select({ ...getTableColumns(orders), ...page.place })`. */
  readonly place: Readonly<Record<PlaceColumn, ReturnType<Sql['as']>>>
  /** To be joined to conditions of its own with `and(...)`. */
  readonly where: Sql
  readonly orderBy: Sql[]
  readonly limit: number
}

/** The tag `sql` of `drizzle-orm`. */
export interface DrizzleSql<Sql extends Aliasable> {
  (strings: TemplateStringsArray, ...values: any[]): Sql
  raw(text: string): Sql
}

export interface DrizzleSource<Sql extends Aliasable> extends KeysetOptions {
  /** The column that makes the order; it need not be unique. Default: the id alone. */
  readonly by?: object
  /** A unique column, which orders records that are equal in `by`. */
  readonly id: object
  /** `import { sql } from 'drizzle-orm'` */
  readonly sql: DrizzleSql<Sql>
}

export function fromDrizzle<Sql extends Aliasable, Row>(
  query: (page: DrizzlePage<Sql>) => PromiseLike<readonly Row[]>,
  source: DrizzleSource<Sql>,
): RecordSource<Omit<Row, PlaceColumn>, RecordPlace> {
  checkParts(query, source)
  const { by, id, sql } = source
  const direction = directionFrom(source)
  const word = sql.raw(direction.word)
  // Selected as expressions, the columns come and go as the driver has them, whatever the table makes of them.
  const parts = {
    place: {
      [placeColumns.by]: sql`${by ?? id}`.as(placeColumns.by),
      [placeColumns.text]: sql`cast(${by ?? id} as ${sql.raw(textOfPlace)})`.as(placeColumns.text),
      [placeColumns.id]: sql`${id}`.as(placeColumns.id),
    } as DrizzlePage<Sql>['place'],
    orderBy: [by, id].filter(column => column !== undefined).map(column => sql`${column} ${word}`),
  }
  return keysetSource({
    ordered: by !== undefined,
    page: (after, limit) =>
      query({ ...parts, where: after === null ? sql`1 = 1` : beyond(source, direction, after), limit }),
    unplaced: () => query({ ...parts, where: sql`${by} is null`, limit: 1 }),
  })
}

function beyond<Sql extends Aliasable>(
  { sql, by, id }: DrizzleSource<Sql>,
  direction: Direction,
  after: RecordPlace,
): Sql {
  const [from, further] = [sql.raw(direction.from), sql.raw(direction.beyond)]
  if (by === undefined) return sql`${id} ${further} ${after.id}`
  return sql`(${by} ${from} ${after.by} and (${by} ${further} ${after.by} or ${id} ${further} ${after.id}))`
}

function checkParts(query: unknown, { by, id, sql }: DrizzleSource<Aliasable>): void {
  const isColumn = (value: unknown) => typeof value === 'object' && value !== null
  if (
    typeof query === 'function' &&
    typeof sql?.raw === 'function' &&
    isColumn(id) &&
    (by === undefined || isColumn(by))
  ) {
    return
  }
  throw new InvalidArgumentError(
    'fromDrizzle needs a function that makes the query of a page, and { by, id, sql }: columns of a table, and the tag of drizzle-orm.',
  )
}
