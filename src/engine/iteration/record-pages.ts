/**
 * Records page by page, each with its cursor. Cursors that could not tell where to go on are refused before any record
 * is handed out.
 */
import type { RecordSource } from '../../definition/iteration.ts'
import { InvalidArgumentError } from '../../errors.ts'
import { canonicalValue } from '../../primitives/json-codec.ts'

export interface RecordPage<Item, Cursor> {
  readonly items: readonly Item[]
  /** One for each item. */
  readonly cursors: readonly Cursor[]
}

/**
 * Pages until one comes back empty. One record more than a page holds is asked for, so that two records with one cursor
 * are found even where a page would have ended between them. What a source gives beyond its limit is cut into pages.
 */
export async function* recordPages<Item, Cursor>(
  { fetch, cursorOf }: RecordSource<Item, Cursor>,
  start: Cursor | null,
  size: number,
): AsyncGenerator<RecordPage<Item, Cursor>> {
  const order = new CursorOrder(start)
  for (let after = start; ; ) {
    const found = await fetch(after, size + 1)
    if (!Array.isArray(found)) {
      throw new InvalidArgumentError('The source of records must return an array, which is empty at the end.')
    }
    if (found.length === 0) return
    const cursors: Cursor[] = found.map(item => cursorOf(item))
    order.checkPage(after, cursors)
    const end = found.length === size + 1 ? size : found.length
    for (let from = 0; from < end; from += size) {
      const to = Math.min(from + size, end)
      yield { items: found.slice(from, to), cursors: cursors.slice(from, to) }
    }
    after = cursors[end - 1] as Cursor
  }
}

/** Looks at cursors as they come, and refuses one that was there just before. */
export class CursorOrder {
  #last: unknown

  constructor(start: unknown) {
    this.#last = keyOf(start)
  }

  check(cursor: unknown): void {
    const key = keyOf(cursor)
    if (cursor === null || cursor === undefined) throw new InvalidArgumentError(withoutCursor(cursor))
    if (key === this.#last) throw new InvalidArgumentError(twice(key))
    this.#last = key
  }

  /** A source that gives again what it was asked to go on after would never come to an end. */
  checkPage(after: unknown, cursors: readonly unknown[]): void {
    this.#last = keyOf(after)
    const before = this.#last
    for (const cursor of cursors) {
      this.check(cursor)
      if (this.#last === before) throw new InvalidArgumentError(backwards(before))
    }
  }
}

/** The same for cursors that are the same. Plain values stand for themselves, because this is asked for every item. */
function keyOf(cursor: unknown): unknown {
  return typeof cursor === 'object' && cursor !== null ? canonicalValue(cursor, 'The cursor') : cursor
}

export function isSameCursor(first: unknown, second: unknown): boolean {
  return keyOf(first) === keyOf(second)
}

function withoutCursor(cursor: unknown): string {
  return `The cursor of an item is ${cursor}, which says nothing about where to go on. Give something that is there for every item, like its id.`
}

function twice(key: unknown): string {
  return `Two records in a row have the cursor ${shown(key)}. After a stop one of them would be lost or seen twice: add a unique column, like [createdAt, id], to the cursor and to the order of the query, and give only what comes after the cursor.`
}

function backwards(key: unknown): string {
  return `The source was asked for what comes after the cursor ${shown(key)} and gave it again, behind others. It must give only what comes after, in the order of the cursors.`
}

function shown(key: unknown): string {
  return String(key).slice(0, 200)
}
