/**
 * Sets of rows in PostgreSQL: a column travels as one array, or as one value where all rows have the same, and `unnest`
 * makes rows of them again. The text depends on the columns alone, so that a server plans it once.
 *
 * The planner cannot know how many rows there will be and takes ten, which on a table that it believes to be small makes it
 * read the table once instead of looking up each row; under load that is quadratic. Of a limit that it does not know it takes a
 * tenth of the rows: one, and looks it up.
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

export function arrayRows(alias: string, set: RowSet, keyType: KeyType): Sql {
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
    if (isSingle(index)) hole(`::${type === 'json' ? 'json' : elementType(type, keyType)} as ${name}`)
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

function elementType(type: ColumnType, keyType: KeyType): string {
  if (type === 'id') return keyType
  return type === 'int' ? 'bigint' : 'text'
}
