/**
 * Turns items into a set of rows for a statement: each column is named once, with its type and where its value comes from.
 */
import type { ColumnType, RowSet } from './dialect.ts'

export type Columns<Item> = Readonly<
  Record<string, readonly [type: ColumnType, read: (item: Item) => string | number | null]>
>

export function rowSet<Item>(columns: Columns<Item>, items: readonly Item[]): RowSet {
  const entries = Object.entries(columns)
  return {
    columns: Object.fromEntries(entries.map(([name, [type]]) => [name, type])),
    rows: items.map(item => entries.map(([, [, read]]) => read(item))),
  }
}

/** Long lists go out in pieces, so that no statement outgrows what a server takes. */
export function pieces<Item>(items: readonly Item[], size: number): (readonly Item[])[] {
  const all: (readonly Item[])[] = []
  for (let start = 0; start < items.length; start += size) all.push(items.slice(start, start + size))
  return all
}
