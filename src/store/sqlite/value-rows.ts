/**
 * Sets of rows in SQLite: bound values, filled up to a power of two with rows that do not count, so that there are few
 * different statements. What all rows share is bound once. Very large sets travel as JSON; a row that comes alone is just its values.
 */
import type { ColumnType, RowSet } from '../sql/dialect.ts'
import { columnOf, KnownParts, type SplitSet, splitSet } from '../sql/row-set.ts'
import { type Param, Sql } from '../sql/sql.ts'

/** What a statement may bind, with room to spare. Larger sets travel as JSON, which is three times slower to read. */
const mostParams = 30_000

/** So many are bound whatever their columns are: a power of two, or a little less. */
export const mostBoundRows = 1000

export function valueRows(alias: string, set: RowSet): Sql {
  if ((set.size ?? set.rows.length) === 1) return loneRow(alias, set)
  const { singles, shape } = sharedIn(set)
  const columns = ownColumns(set, singles)
  const count = columns[0]?.length ?? set.rows.length
  const length = powerOfTwo(count)
  const values: Param[] = []
  for (const value of singles) if (value !== undefined) values.push(value)
  const isJson = (columns.length + 1) * length > mostParams
  if (isJson) values.push(JSON.stringify(Array.from({ length: count }, (_, row) => columns.map(column => column[row]))))
  else pushRows(values, columns, { count, length })
  const key = `${alias} ${isJson ? 'json' : length} ${shape}`
  return new Sql(
    knownParts.of(set, key, () => {
      const from = isJson ? jsonSource() : valueSource(columns.length, length)
      return makeParts(alias, {
        names: Object.keys(set.columns),
        isSingle: index => singles[index] !== undefined,
        ...from,
      })
    }),
    values,
  )
}

/** Nothing but its values. */
function loneRow(alias: string, set: RowSet): Sql {
  const names = Object.keys(set.columns)
  const shape = { names, isSingle: () => true, column: () => '', around: [''] }
  const parts = knownParts.of(set, `${alias} lone`, () => makeParts(alias, shape))
  const [row = []] = set.rows
  return new Sql(
    parts,
    Object.values(set.columns).map((type, index) => inType(type, row[index] ?? null)),
  )
}

type Value = string | number | null

/** Ids are never shared: a planner that is told one looks up all rows of the workflow, and compares each with the whole set. */
function sharedIn(set: RowSet): SplitSet {
  const { singles, shape } = splitSet(set)
  const types = Object.values(set.columns)
  return { singles: singles.map((value, index) => (types[index] === 'id' ? undefined : value)), shape }
}

/** Numeric ids must arrive as numbers: SQLite compares a number with a text as unequal. */
function inType(type: ColumnType, value: Value): Value {
  return type === 'id' && value !== null ? idValue(String(value)) : value
}

/** The columns that rows have values of their own in. */
function ownColumns(set: RowSet, singles: SplitSet['singles']): (readonly Value[])[] {
  const columns: (readonly Value[])[] = []
  Object.values(set.columns).forEach((type, index) => {
    if (singles[index] !== undefined) return
    const column = columnOf(set, index)
    columns.push(type === 'id' ? column.map(value => inType(type, value)) : column)
  })
  return columns
}

interface Filling {
  readonly count: number
  /** With rows that do not count. */
  readonly length: number
}

function pushRows(values: Param[], columns: readonly (readonly Value[])[], { count, length }: Filling): void {
  for (let row = 0; row < count; row++) {
    for (const column of columns) values.push(column[row] ?? null)
    values.push(1)
  }
  for (let left = (length - count) * (columns.length + 1); left > 0; left--) values.push(null)
}

const knownParts = new KnownParts()

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

export function idValue(id: string): string | number {
  return id.length === 36 ? id : Number(id)
}
