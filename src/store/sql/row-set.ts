/**
 * Turns items into a set of rows for a statement: each column is named once, with its type and where its value comes from.
 */
import type { ColumnType, RowSet } from './dialect.ts'

export type Columns<Item> = Readonly<
  Record<string, readonly [type: ColumnType, read: (item: Item) => string | number | null]>
>

const knownTypes = new WeakMap<object, RowSet['columns']>()

function typesOf<Item>(columns: Columns<Item>): RowSet['columns'] {
  const known = knownTypes.get(columns)
  if (known !== undefined) return known
  const types = Object.fromEntries(Object.entries(columns).map(([name, [type]]) => [name, type]))
  knownTypes.set(columns, types)
  return types
}

export function rowSet<Item>(columns: Columns<Item>, items: readonly Item[]): RowSet {
  const entries = Object.entries(columns)
  return {
    columns: typesOf(columns),
    get rows() {
      return items.map(item => entries.map(([, [, read]]) => read(item)))
    },
    column(index) {
      const read = entries[index]?.[1][1]
      return read === undefined ? [] : items.map(read)
    },
  }
}

/** Long lists go out in pieces, so that no statement outgrows what a server takes. */
export function pieces<Item>(items: readonly Item[], size: number): (readonly Item[])[] {
  const all: (readonly Item[])[] = []
  for (let start = 0; start < items.length; start += size) all.push(items.slice(start, start + size))
  return all
}
