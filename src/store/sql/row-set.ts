/**
 * Turns items into a set of rows for a statement: each column is named once, with its type and where its value comes from.
 */
import type { SqlContext } from './context.ts'
import type { Alike, ColumnType, RowSet } from './dialect.ts'
import { lengthOf, type Sql } from './sql.ts'

type Value = string | number | null

export type Columns<Item> = Readonly<
  Record<string, readonly [type: ColumnType, read: (item: Item) => Value, alike?: Alike]>
>

interface Known {
  readonly columns: RowSet['columns']
  readonly alike: readonly (Alike | null)[]
  readonly readers: readonly ((item: never) => Value)[]
}

const known = new WeakMap<object, Known>()

function knownOf<Item>(columns: Columns<Item>): Known {
  const found = known.get(columns)
  if (found !== undefined) return found
  const entries = Object.entries(columns)
  const made = {
    columns: Object.fromEntries(entries.map(([name, [type]]) => [name, type])),
    alike: entries.map(([, [, , alike]]) => alike ?? null),
    readers: entries.map(([, [, read]]) => read),
  }
  known.set(columns, made)
  return made
}

export function rowSet<Item>(columns: Columns<Item>, items: readonly Item[]): RowSet {
  return new ItemSet(knownOf(columns), items)
}

class ItemSet<Item> implements RowSet {
  readonly columns: RowSet['columns']
  readonly alike: readonly (Alike | null)[]
  readonly #readers: readonly ((item: Item) => Value)[]
  readonly #items: readonly Item[]

  constructor({ columns, alike, readers }: Known, items: readonly Item[]) {
    this.columns = columns
    this.alike = alike
    this.#readers = readers as readonly ((item: Item) => Value)[]
    this.#items = items
  }

  get rows(): Value[][] {
    return this.#items.map(item => this.#readers.map(read => read(item)))
  }

  get size(): number {
    return this.#items.length
  }

  column(index: number): Value[] {
    const read = this.#readers[index]
    return read === undefined ? [] : this.#items.map(item => read(item))
  }

  /** The value that all rows have in a column; `undefined` where they differ. */
  only(index: number): Value | undefined {
    const [first] = this.#items
    const read = this.#readers[index]
    if (first === undefined || read === undefined) return undefined
    const value = read(first)
    return this.#items.every(item => read(item) === value) ? value : undefined
  }
}

export function columnOf(set: RowSet, index: number): readonly Value[] {
  return set.column?.(index) ?? set.rows.map(row => row[index] ?? null)
}

/** The text around the values of a set, which is the same whenever the columns and the key are. */
export class KnownParts {
  readonly #known = new WeakMap<RowSet['columns'], Map<string, readonly string[]>>()

  of({ columns }: RowSet, key: string, make: () => readonly string[]): readonly string[] {
    const known = this.#known.get(columns) ?? new Map<string, readonly string[]>()
    this.#known.set(columns, known)
    const found = known.get(key)
    if (found !== undefined) return found
    const parts = make()
    known.set(key, parts)
    return parts
  }
}

export interface SplitSet {
  /** The values that all rows share, by the place of the column; `undefined` where a column has its own for each row. */
  readonly singles: readonly (Value | undefined)[]
  /** Stands for which columns those are. */
  readonly shape: string
}

const allKinds: readonly Alike[] = ['course', 'code', 'slot', 'node', 'next', 'time', 'name', 'output', 'fan']

/** Worth one value only where all rows have none: there would be too many statements otherwise. */
const mostlyNone: readonly Alike[] = ['node', 'next', 'output']

/** Fewer than that are hardly the branches of a fan, and not worth a statement of their own. */
export const manyBranches = 20

/** Parts a set into what is the same in all rows and what is not. Columns of one kind go together. */
export function splitSet(set: RowSet, kinds = allKinds): SplitSet {
  const isMany = (set.size ?? set.rows.length) >= manyBranches
  const counts = (kind: Alike) => kinds.includes(kind) && (kind !== 'fan' || isMany)
  const alike = (set.alike ?? []).map(kind => (kind !== null && counts(kind) ? kind : null))
  const singles: (Value | undefined)[] = alike.map(() => undefined)
  const uneven = new Set<Alike>()
  alike.forEach((kind, index) => {
    if (kind === null || uneven.has(kind)) return
    const only = set.only?.(index)
    singles[index] = only
    if (only === undefined || (only !== null && mostlyNone.includes(kind))) uneven.add(kind)
  })
  alike.forEach((kind, index) => {
    if (kind !== null && uneven.has(kind)) singles[index] = undefined
  })
  return { singles, shape: singles.map(value => (value === undefined ? '-' : '1')).join('') }
}

/** A group of small changes always fits. */
const usualRows = 5000

/** How many rows one statement writes. */
export function mostRowsIn({ dialect }: SqlContext): number {
  return dialect.mostRows ?? usualRows
}

type Write<Item> = (context: SqlContext, piece: readonly Item[]) => Sql

/** Long lists go out in pieces, in their order, so that no statement outgrows what a server takes. */
export function inPieces<Item>(context: SqlContext, items: readonly Item[], write: Write<Item>): Sql[] {
  const most = mostRowsIn(context)
  if (items.length <= most) return items.length === 0 ? [] : inHalves(context, items, write)
  const all: Sql[] = []
  for (let start = 0; start < items.length; start += most) {
    all.push(...inHalves(context, items.slice(start, start + most), write))
  }
  return all
}

/** How long a statement is, is known once it is written. Few are too long. */
function inHalves<Item>(context: SqlContext, items: readonly Item[], write: Write<Item>): Sql[] {
  const statement = write(context, items)
  const { longestStatement } = context.dialect
  if (longestStatement === undefined || items.length === 1 || lengthOf(statement.values) <= longestStatement) {
    return [statement]
  }
  const half = Math.ceil(items.length / 2)
  return [...inHalves(context, items.slice(0, half), write), ...inHalves(context, items.slice(half), write)]
}
