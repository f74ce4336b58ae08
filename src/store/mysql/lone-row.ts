/**
 * A row that comes alone in MySQL and MariaDB: its values stand in the statement. An update by it is one of a single table, because one by a
 * join first writes what it will change into a table of its own, on disk where a column is long, which takes longer than all else.
 */
import type { ColumnType, KeyType, RowSet } from '../sql/dialect.ts'
import { KnownParts } from '../sql/row-set.ts'
import { join, type Param, param, raw, Sql, sql } from '../sql/sql.ts'

/**
 * Ids have the character set of the columns that they are compared with. Else the servers convert those, and read the whole
 * table instead of looking it up.
 */
export const keyText = 'char(36) character set ascii'

export function idValue(id: string, keyType: KeyType): string | number {
  return keyType === 'uuid' ? id : Number(id)
}

const knownParts = new KnownParts()

interface Lone {
  readonly alias: string
  readonly names: readonly string[]
}

/** What a fragment with these parts is. */
const loneRows = new WeakMap<readonly string[], Lone>()

export function loneRow(alias: string, set: RowSet, keyType: KeyType): Sql {
  const entries = Object.entries(set.columns)
  const parts = knownParts.of(set, `${alias} ${keyType}`, () => {
    const shown = entries.map(([name, type]) => sql`cast(${null} as ${raw(castTo(type, keyType))}) as ${raw(name)}`)
    const made = sql`(select ${join(shown, ', ')}) ${raw(alias)}`.parts
    loneRows.set(made, { alias, names: Object.keys(set.columns) })
    return made
  })
  const [row = []] = set.rows
  const values = entries.map(([, type], index) => {
    const value = row[index] ?? null
    return type === 'id' && value !== null ? idValue(String(value), keyType) : value
  })
  return new Sql(parts, values)
}

function castTo(type: ColumnType, keyType: KeyType): string {
  if (type === 'id' && keyType === 'uuid') return keyText
  return type === 'id' || type === 'int' ? 'signed' : 'char'
}

type Assignment = readonly [column: string, value: Sql]

interface Update {
  readonly on: Sql
  readonly assignments: readonly Assignment[]
}

/** The same without the set, its values in the places of its columns; `null` where the set is no lone row, or it would not be the same. */
export function intoLoneRow(set: Sql, on: Sql, assignments: readonly Assignment[]): Update | null {
  const lone = loneRows.get(set.parts)
  if (lone === undefined || goesByOrder(assignments)) return null
  const values = new Map(lone.names.map((name, index) => [`${lone.alias}.${name}`, set.values[index] ?? null]))
  return {
    on: withValues(on, values),
    assignments: assignments.map(([column, value]) => [column, withValues(value, values)]),
  }
}

/** An update of one table assigns from left to right: whoever reads a column behind its assignment finds what is new there. */
function goesByOrder(assignments: readonly Assignment[]): boolean {
  return assignments.some(([column], place) =>
    assignments
      .slice(place + 1)
      .some(([, { parts }]) => parts.some(part => new RegExp(`\\ba\\.${column}\\b`).test(part))),
  )
}

const aColumn = /\b[a-z]\.[a-z_]+\b/g

function withValues(fragment: Sql, values: ReadonlyMap<string, Param>): Sql {
  const pieces: Sql[] = []
  fragment.parts.forEach((part, index) => {
    if (index > 0) pieces.push(param(fragment.values[index - 1] ?? null))
    let read = 0
    for (const { 0: column, index: at } of part.matchAll(aColumn)) {
      const value = values.get(column)
      if (value === undefined) continue
      pieces.push(raw(part.slice(read, at)), param(value))
      read = at + column.length
    }
    pieces.push(raw(part.slice(read)))
  })
  return join(pieces, '')
}
