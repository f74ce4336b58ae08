/**
 * Sets of rows in PostgreSQL: a column travels as one array, or as one value where all rows have the same, and `unnest`
 * makes rows of them again. The text depends on the columns and on which of them are the same in all rows, so that a server plans it once.
 *
 * The planner cannot know how many rows there will be and takes ten, which on a table that it believes to be small makes it
 * read the table once instead of looking up each row; under load that is quadratic. Of a limit that it does not know it takes a
 * tenth of the rows: one, and looks it up.
 *
 * A row that comes alone, or two, need none of this. Their values stand in the statement as they are, which costs half as much.
 */
import type { ColumnType, KeyType, RowSet } from '../sql/dialect.ts'
import { columnOf, KnownParts, type SplitSet, splitSet } from '../sql/row-set.ts'
import { type Param, Sql } from '../sql/sql.ts'

type Value = string | number | null

const special = /[\\"]/

/** The text of an array. The driver would write the same, but look at every value much longer. */
function arrayLiteral(values: readonly Value[], type: ColumnType): string {
  if (values.includes(null)) return `{${values.map(literal).join(',')}}`
  // Neither numbers nor ids have a character that an array would have to quote.
  if (type !== 'text' && type !== 'json') return `{${values.join(',')}}`
  return special.test(values.join('')) ? `{${values.map(literal).join(',')}}` : `{"${values.join('","')}"}`
}

function literal(value: Value): string {
  if (value === null) return 'NULL'
  return typeof value === 'number' ? String(value) : `"${value.replaceAll(/[\\"]/g, '\\$&')}"`
}

const knownParts = new KnownParts()

export function arrayRows(alias: string, set: RowSet, keyType: KeyType, asSet: boolean): Sql {
  const size = set.size ?? set.rows.length
  if (!asSet && (size === 1 || size === 2)) return fewRows(alias, set, keyType)
  const { singles, shape } = splitSet(set)
  const values: Param[] = []
  let count = 0
  for (const value of singles) if (value !== undefined) values.push(value)
  for (const [index, type] of Object.values(set.columns).entries()) {
    if (singles[index] !== undefined) continue
    const column = columnOf(set, index)
    count = column.length
    values.push(arrayLiteral(column, type))
  }
  values.push(count)
  const key = `${alias} ${keyType} ${shape}`
  const make = () => makeParts(Object.entries(set.columns), singles, { alias, keyType })
  return new Sql(knownParts.of(set, key, make), values)
}

interface Written {
  readonly alias: string
  readonly keyType: KeyType
}

/** One is what the planner likes best: it sees through to the values. Two are a list of values. */
function fewRows(alias: string, set: RowSet, keyType: KeyType): Sql {
  const { rows } = set
  const parts = knownParts.of(set, `${alias} ${keyType} ${rows.length === 1 ? 'lone' : 'pair'}`, () => {
    const columns = Object.entries(set.columns).map(([name, type]) => ({ name, type: typeOf(type, keyType) }))
    const written = rows.length === 1 ? loneParts(columns) : valueParts(columns, rows.length)
    return [...written.slice(0, -1), `${written.at(-1)} ${alias}`]
  })
  return new Sql(parts, rows.flat())
}

interface Column {
  readonly name: string
  readonly type: string
}

/** `(select $::type as name, ...)`, around the values. */
function loneParts(columns: readonly Column[]): string[] {
  const after = columns.map(({ name, type }) => `::${type} as ${name}`)
  return ['(select ', ...after.slice(0, -1).map(text => `${text}, `), `${after.at(-1)})`]
}

/** `(select v.name, ... from (values ($::type, ...), ...) v(name, ...))`, around the values. */
function valueParts(columns: readonly Column[], count: number): string[] {
  const names = columns.map(({ name }) => name)
  const after = Array.from({ length: count }, () => columns.map(({ type }) => `::${type}`)).flatMap((types, row) =>
    types.map((type, index) => `${type}${index < types.length - 1 ? ', ' : row < count - 1 ? '), (' : ''}`),
  )
  const last = `${after.at(-1)})) v(${names.join(', ')}))`
  return [`(select ${names.map(name => `v.${name}`).join(', ')} from (values (`, ...after.slice(0, -1), last]
}

function makeParts(
  columns: readonly (readonly [string, ColumnType])[],
  singles: SplitSet['singles'],
  { alias, keyType }: Written,
): string[] {
  const isSingle = (index: number) => singles[index] !== undefined
  const parts: string[] = []
  let text = '(select '
  const hole = (after: string) => {
    parts.push(text)
    text = after
  }
  columns.forEach(([name, type], index) => {
    if (index > 0) text += ', '
    if (isSingle(index)) hole(`::${typeOf(type, keyType)} as ${name}`)
    else text += type === 'json' ? `u.${name}::json as ${name}` : `u.${name}`
  })
  text += ' from unnest('
  const arrays = columns.filter((_, index) => !isSingle(index))
  arrays.forEach(([, type], index) => {
    hole(`::${elementType(type, keyType)}[]${index < arrays.length - 1 ? ', ' : ''}`)
  })
  text += `) as u(${arrays.map(([name]) => name).join(', ')}) limit `
  hole(`::bigint) ${alias}`)
  return [...parts, text]
}

/** JSON arrives as text: a library that is told of a value that it is to be JSON makes JSON of the text. */
function typeOf(type: ColumnType, keyType: KeyType): string {
  return type === 'json' ? 'text::json' : elementType(type, keyType)
}

function elementType(type: ColumnType, keyType: KeyType): string {
  if (type === 'id') return keyType
  return type === 'int' ? 'bigint' : 'text'
}
