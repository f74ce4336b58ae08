/**
 * The loops over items. The cursor moves when the loop asks for the next item: `continue` counts as done, while `break`,
 * `return` and a throw leave the item to the next run.
 */
import type { Iteration, NestedCursor, RecordSource } from '../../definition/iteration.ts'
import type { IterationLevel } from './iteration-level.ts'
import { CursorOrder, isSameCursor, recordPages } from './record-pages.ts'

/** By index, so the list must be the same on every run. Tells when it has come to its end. */
export async function* goThrough<Item>(
  level: IterationLevel<number>,
  items: Iterable<Item>,
  atEnd: () => void,
): AsyncGenerator<Item> {
  level.enter()
  try {
    const start = level.cursor ?? 0
    let index = 0
    for (const item of items) {
      if (index++ < start) continue
      level.begin(index)
      yield item
      await level.done()
    }
    atEnd()
  } finally {
    level.leave()
  }
}

export async function* goThroughRecords<Item, Cursor>(
  level: IterationLevel<Cursor>,
  source: RecordSource<Item, Cursor>,
  size: number,
): AsyncGenerator<Item> {
  level.enter()
  try {
    for await (const { items, cursors } of recordPages(source, level.cursor, size)) {
      for (const [index, item] of items.entries()) {
        level.begin(cursors[index] as Cursor)
        yield item
        await level.done()
      }
    }
  } finally {
    level.leave()
  }
}

/** A batch counts as the records that it holds. */
export async function* goThroughBatches<Item, Cursor>(
  level: IterationLevel<Cursor>,
  source: RecordSource<Item, Cursor>,
  size: number,
): AsyncGenerator<readonly Item[]> {
  level.enter()
  try {
    for await (const { items, cursors } of recordPages(source, level.cursor, size)) {
      level.begin(cursors.at(-1) as Cursor, items.length)
      yield items
      await level.done()
    }
  } finally {
    level.leave()
  }
}

export async function* goThroughPairs<Item, Cursor>(
  level: IterationLevel<Cursor>,
  source: (after: Cursor | null) => unknown,
): AsyncGenerator<Item> {
  level.enter()
  try {
    const order = new CursorOrder(level.cursor)
    const pairs = (await source(level.cursor)) as AsyncIterable<readonly [Item, Cursor]>
    for await (const [item, cursor] of pairs) {
      order.check(cursor)
      level.begin(cursor)
      yield item
      await level.done()
    }
  } finally {
    level.leave()
  }
}

/** The outer item that was under way is met first again, and its inner iteration goes on where it was. */
export async function* goThroughNested<Item, Outer, Inner>(
  level: IterationLevel<NestedCursor<Outer, Inner>>,
  source: RecordSource<Item, Outer>,
  size: number,
): AsyncGenerator<readonly [Item, Iteration<Inner>]> {
  level.enter()
  try {
    const start = level.cursor ?? { done: null, at: null, inner: null }
    let { done } = start
    for await (const { items, cursors } of recordPages(source, done, size)) {
      for (const [index, item] of items.entries()) {
        const at = cursors[index] as Outer
        const before = done
        const begun = start.at !== null && isSameCursor(start.at, at) ? start.inner : null
        yield [item, level.inner(begun, inner => ({ done: before, at, inner }))]
        done = at
        await level.moveOn({ done, at: null, inner: null })
      }
    }
  } finally {
    level.leave()
  }
}
