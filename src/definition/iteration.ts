/**
 * What a resumable step receives. The cursor says where the next run goes on; whatever it is, it comes back as it was.
 */
import type { Duration } from '../primitives/duration.ts'
import type { Transaction } from './transaction.ts'

/** The place of an iteration over two levels: what is done of the outer one, and how far the current one has come. */
export interface NestedCursor<Outer, Inner> {
  readonly done: Outer | null
  readonly at: Outer | null
  readonly inner: Inner | null
}

/** A page of records after a place: at most `limit`, in the order of their cursors, none at the end. */
export type FetchPage<Item, Cursor> = (
  after: Cursor | null,
  limit: number,
) => Promise<readonly Item[]> | readonly Item[]

/** Records in pages, with what tells their place. Made by `fromKysely`, `fromDrizzle` and `fromSql`. */
export interface RecordSource<Item, Cursor> {
  readonly fetch: FetchPage<Item, Cursor>
  readonly cursorOf: (item: Item) => Cursor
}

export interface PageOptions {
  /** How many records are fetched at once. Default 100. */
  readonly size?: number
}

type Pairs<Item, Cursor> = Iterable<readonly [Item, Cursor]> | AsyncIterable<readonly [Item, Cursor]>

export interface Iteration<Cursor> {
  /** Of the step. */
  readonly name: string
  /** Where to go on; `null` on the first run. */
  readonly cursor: Cursor | null
  /** True on every run after the first, also after a crash. */
  readonly resumed: boolean
  /** True once the cursor has moved in this run. */
  readonly advanced: boolean
  /** Items done so far, over all runs. */
  readonly completedIterations: number
  /** Where it is, for a log line: `at 'copy', cursor 5`. */
  readonly description: string

  /** An item is done: moves the cursor, writes it down, and stops here if the step should stop. */
  set(cursor: Cursor): Promise<void>
  /** The same with the next whole number. Without a cursor it begins at `start`, or says that it needs one. */
  advance(this: Iteration<number>, options?: { readonly start?: number }): Promise<void>
  /** Writes the cursor down now, durably, and stops here if the step should stop. */
  checkpoint(): Promise<void>
  /** Moves the cursor and stops here, to go on from there at once or after a while. */
  skipTo(cursor: Cursor, options?: { readonly wait?: Duration }): Promise<never>
  /** Stops here, to go on at once or after a while. */
  suspend(options?: { readonly wait?: Duration }): Promise<never>

  /** Goes through a list that does not change between runs; the cursor is an index. */
  over<Item>(this: Iteration<number>, items: Iterable<Item>): AsyncIterable<Item>
  over<Item>(this: Iteration<number>, items: Iterable<Item>, body: (item: Item) => unknown): Promise<void>
  /** Goes through records page by page. Their cursors must be unique and rise. */
  records<Item>(source: RecordSource<Item, Cursor>, options?: PageOptions): AsyncIterable<Item>
  records<Item>(
    fetch: FetchPage<Item, Cursor>,
    cursorOf: (item: Item) => Cursor,
    options?: PageOptions,
  ): AsyncIterable<Item>
  /** The same, a page at a time. */
  batches<Item>(source: RecordSource<Item, Cursor>, options?: PageOptions): AsyncIterable<readonly Item[]>
  batches<Item>(
    fetch: FetchPage<Item, Cursor>,
    cursorOf: (item: Item) => Cursor,
    options?: PageOptions,
  ): AsyncIterable<readonly Item[]>
  /** Goes through anything that tells for each item where to go on after it. */
  pairs<Item>(source: (after: Cursor | null) => Pairs<Item, Cursor> | Promise<Pairs<Item, Cursor>>): AsyncIterable<Item>
  /** Goes through two levels; both resume. The inner iteration has a cursor of its own. */
  nested<Item, Outer, Inner>(
    this: Iteration<NestedCursor<Outer, Inner>>,
    fetch: FetchPage<Item, Outer>,
    cursorOf: (item: Item) => Outer,
    options?: PageOptions,
  ): AsyncIterable<readonly [Item, Iteration<Inner>]>

  /** Says how many items there are, so that count, rate and time left can be shown. */
  progress(options: { readonly total: number }): void
  /** Commits the item's own writes together with its cursor: exactly once per item. Run again when the database asks for it. */
  transaction<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result>
}
