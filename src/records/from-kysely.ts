/**
 * Records of a Kysely query, page by page. Only methods of the query itself are called; Kysely is not imported.
 */
import type { RecordSource } from '../definition/iteration.ts'
import { InvalidArgumentError } from '../errors.ts'
import { columnName, directionFrom, type KeysetOptions, keysetSource } from './keyset-source.ts'
import { placeColumns, type RecordPlace, textOfPlace } from './record-place.ts'

/** What is used of a select query. */
export interface KyselyQuery<Item> {
  execute(): Promise<Item[]>
  select(selection: any): any
  where(...condition: any[]): any
  orderBy(column: any, direction: any): any
  limit(limit: any): any
  compile(): { readonly sql: string }
  toOperationNode(): object
}

export interface KyselySource<Item> extends KeysetOptions {
  /** The column that makes the order; it need not be unique. Default: the id alone. In a join: `orders.created_at`. */
  readonly by?: ColumnOf<Item>
  /** A unique column, which orders records that are equal in `by`. */
  readonly id: ColumnOf<Item>
}

type ColumnOf<Item> = (keyof Item & string) | `${string}.${string}`

/** The query must have neither order nor limit of its own. */
export function fromKysely<Item>(
  query: KyselyQuery<Item>,
  options: KyselySource<Item>,
): RecordSource<Item, RecordPlace> {
  refuseEnds(query)
  const { word, from, beyond } = directionFrom(options)
  const by = options.by === undefined ? null : reference(options.by, 'by')
  const id = reference(options.id, 'id')
  const castsTimes = hasNumberedPlaceholders(query)

  const after = (place: RecordPlace) => (eb: any) => {
    if (by === null) return eb(id, beyond, place.id)
    // A driver that looks at the type of the column would make a Date of the text, and drop its last digits.
    const time = place.as && castsTimes ? eb.cast(eb.cast(eb.val(place.by), 'text'), place.as) : place.by
    return eb.and([eb(by, from, time), eb.or([eb(by, beyond, time), eb(id, beyond, place.id)])])
  }
  const selected = query.select((eb: any) => [
    ...(by === null ? [] : [eb.ref(by).as(placeColumns.by), eb.cast(eb.ref(by), textOfPlace).as(placeColumns.text)]),
    eb.ref(id).as(placeColumns.id),
  ])
  const ordered = (by === null ? selected : selected.orderBy(by, word)).orderBy(id, word)

  return keysetSource<Item>({
    ordered: by !== null,
    page: (place, limit) => (place === null ? ordered : ordered.where(after(place))).limit(limit).execute(),
    unplaced: () => query.where(by, 'is', null).limit(1).execute(),
  })
}

function reference(name: unknown, what: string): string {
  return columnName(name, what, /^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*){0,2}$/)
}

/** The limit is the last value of a statement, so its end tells how placeholders are written. */
function hasNumberedPlaceholders(query: KyselyQuery<unknown>): boolean {
  return /\$\d+$/.test(query.limit(1).compile().sql)
}

/** Conditions and orders are added to the query, which means something else behind a limit or beside a union. */
function refuseEnds(query: KyselyQuery<unknown>): void {
  if (typeof query?.toOperationNode !== 'function' || typeof query.execute !== 'function') {
    throw new InvalidArgumentError('fromKysely needs a select query: `db.selectFrom(...).selectAll()`.')
  }
  const node = query.toOperationNode() as Readonly<Record<string, unknown>>
  const found = ['orderBy', 'limit', 'offset', 'setOperations', 'top', 'fetch'].find(part => node[part] !== undefined)
  if (found === undefined) return
  throw new InvalidArgumentError(
    `The query of fromKysely has its own ${found}. Leave it out, or make the query a subquery: \`db.selectFrom(query.as('records')).selectAll()\`.`,
  )
}
