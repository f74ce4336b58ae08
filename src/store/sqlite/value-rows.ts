/**
 * Sets of rows in SQLite: bound values, filled up to a power of two with rows that do not count, so that there are few
 * different statements. What all rows share is bound once. Very large sets travel as JSON.
 */
import type { RowSet } from '../sql/dialect.ts'
import { splitSet } from '../sql/row-set.ts'
import { type Param, Sql } from '../sql/sql.ts'

/** What a statement may bind, with room to spare. Larger sets travel as JSON, which is three times slower to read. */
const mostParams = 30_000

type Data = readonly (readonly (string | number | null)[])[]

export function valueRows(alias: string, set: RowSet): Sql {
  const names = Object.keys(set.columns)
  const { singles, shape } = splitSet(set)
  const isSingle = (index: number) => singles[index] !== undefined
  const own = names.filter((_, index) => !isSingle(index))
  const data = encodeIds(set, isSingle)
  const length = powerOfTwo(data.length)
  const values: Param[] = []
  for (const value of singles) if (value !== undefined) values.push(value)
  const isJson = (own.length + 1) * length > mostParams
  if (isJson) values.push(JSON.stringify(data))
  else pushRows(values, data, length, own.length)
  const key = `${alias} ${isJson ? 'json' : length} ${shape} ${names.join(' ')}`
  return new Sql(
    partsFor(key, () => {
      const from = isJson ? jsonSource() : valueSource(own.length, length)
      return makeParts(alias, { names, isSingle, ...from })
    }),
    values,
  )
}

function pushRows(values: Param[], data: Data, length: number, width: number): void {
  for (const row of data) {
    for (const value of row) values.push(value)
    values.push(1)
  }
  for (let left = (length - data.length) * (width + 1); left > 0; left--) values.push(null)
}

const knownParts = new Map<string, readonly string[]>()
const mostKnown = 500

function partsFor(key: string, make: () => readonly string[]): readonly string[] {
  const known = knownParts.get(key)
  if (known !== undefined) return known
  const parts = make()
  if (knownParts.size < mostKnown) knownParts.set(key, parts)
  return parts
}

interface Source {
  /** Where the column of a row at that place is read. */
  column(place: number): string
  /** The text around the bound values. */
  readonly around: readonly string[]
}

function valueSource(width: number, length: number): Source {
  const holes = length * (width + 1)
  const around = Array.from({ length: holes + 1 }, (_, index) => {
    if (index === 0) return ' from (values ('
    // The sign keeps the planner from making an index over what is the same in all rows.
    if (index === holes) return `)) where +column${width + 1} = 1`
    return index % (width + 1) === 0 ? '), (' : ', '
  })
  return { column: place => `column${place + 1}`, around }
}

function jsonSource(): Source {
  return { column: place => `value ->> ${place}`, around: [' from json_each(', ')'] }
}

interface Shape extends Source {
  readonly names: readonly string[]
  isSingle(index: number): boolean
}

function makeParts(alias: string, { names, isSingle, column, around }: Shape): string[] {
  const parts: string[] = []
  let text = '(select '
  let place = 0
  names.forEach((name, index) => {
    if (index > 0) text += ', '
    if (isSingle(index)) {
      parts.push(text)
      text = ` as ${name}`
    } else text += `${column(place++)} as ${name}`
  })
  const [first = '', ...rest] = around
  const all = [...parts, `${text}${first}`, ...rest]
  all[all.length - 1] += `) ${alias}`
  return all
}

function powerOfTwo(length: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(length, 1)))
}

/** Numeric ids must arrive as numbers: SQLite compares a number with a text as unequal. No id is the same in all rows. */
function encodeIds(set: RowSet, isSingle: (index: number) => boolean): Data {
  const types = Object.values(set.columns)
  return set.rows.map(row => {
    const own: (string | number | null)[] = []
    row.forEach((value, index) => {
      if (!isSingle(index)) own.push(types[index] === 'id' && value !== null ? idValue(String(value)) : value)
    })
    return own
  })
}

export function idValue(id: string): string | number {
  return id.length === 36 ? id : Number(id)
}
