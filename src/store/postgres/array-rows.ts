/**
 * Sets of rows in PostgreSQL: a column travels as one array, or as one value where all rows have the same, and `unnest`
 * makes rows of them again. The text depends on the columns alone, so that a server plans it once.
 */
import type { Alike, ColumnType, KeyType, RowSet } from '../sql/dialect.ts'
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

function columnOf(set: RowSet, index: number): readonly Value[] {
  return set.column?.(index) ?? set.rows.map(row => row[index] ?? null)
}

export function arrayRows(alias: string, set: RowSet, keyType: KeyType): Sql {
  const types = Object.values(set.columns)
  const { singles, even } = singlesIn(set, types.length)
  const values: Param[] = []
  for (const value of singles) if (value !== undefined) values.push(value)
  for (const [index, type] of types.entries()) {
    if (singles[index] === undefined) values.push(arrayLiteral(columnOf(set, index), type))
  }
  return new Sql(partsOf(alias, set, keyType, even), values)
}

/** The values that all rows share, by the place of the column, and a key for which columns those are. */
function singlesIn(set: RowSet, count: number): { singles: (Value | undefined)[]; even: string } {
  const singles: (Value | undefined)[] = new Array(count).fill(undefined)
  const uneven = new Set<Alike>()
  set.alike?.forEach((alike, index) => {
    if (alike === null || uneven.has(alike)) return
    singles[index] = set.only?.(index)
    if (singles[index] === undefined) uneven.add(alike)
  })
  set.alike?.forEach((alike, index) => {
    if (alike !== null && uneven.has(alike)) singles[index] = undefined
  })
  return { singles, even: [...uneven].toSorted().join(' ') }
}

const knownParts = new WeakMap<RowSet['columns'], Map<string, readonly string[]>>()

/** `uneven`: the groups of columns that do not have one value. */
function partsOf(alias: string, { columns, alike }: RowSet, keyType: KeyType, uneven: string): readonly string[] {
  const known = knownParts.get(columns) ?? new Map<string, readonly string[]>()
  knownParts.set(columns, known)
  const key = `${alias} ${keyType} ${uneven}`
  const found = known.get(key)
  if (found !== undefined) return found
  const isSingle = (index: number) => {
    const group = alike?.[index] ?? null
    return group !== null && !uneven.split(' ').includes(group)
  }
  const parts = makeParts(alias, Object.entries(columns), keyType, isSingle)
  known.set(key, parts)
  return parts
}

function makeParts(
  alias: string,
  columns: readonly (readonly [string, ColumnType])[],
  keyType: KeyType,
  isSingle: (index: number) => boolean,
): string[] {
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
  return [...parts, `${text}) as u(${arrays.map(([name]) => name).join(', ')})) ${alias}`]
}

function elementType(type: ColumnType, keyType: KeyType): string {
  if (type === 'id') return keyType
  return type === 'int' ? 'bigint' : 'text'
}
