/**
 * Makes a source of records of two queries: one for the next page, one for records that have no place in the order.
 */
import type { RecordSource } from '../definition/iteration.ts'
import { InvalidArgumentError } from '../errors.ts'
import { checkPlace, type RecordPlace, readPlace, unplaced } from './record-place.ts'

export interface KeysetOptions {
  /** Newest first, for example. Default `asc`. */
  readonly order?: 'asc' | 'desc'
}

/** What the comparison of a direction looks like. */
export interface Direction {
  readonly word: 'asc' | 'desc'
  readonly beyond: '>' | '<'
  /** Beyond or equal. Redundant, but it lets the database begin at the right place of an index. */
  readonly from: '>=' | '<='
}

export interface Keyset {
  /** False when the id alone makes the order. */
  readonly ordered: boolean
  /** The rows beyond a place, or the first ones, in order. */
  page(after: RecordPlace | null, limit: number): PromiseLike<unknown>
  /** One row without a value in the cursor column, if there is any. */
  unplaced(): PromiseLike<unknown>
}

export function keysetSource<Item>(keyset: Keyset): RecordSource<Item, RecordPlace> {
  const places = new WeakMap<object, RecordPlace>()
  const { ordered } = keyset
  return {
    async fetch(after, limit) {
      if (after !== null) checkPlace(after, ordered)
      else if (ordered && rowsIn(await keyset.unplaced()).length > 0) throw unplaced()
      return rowsIn(await keyset.page(after, limit)).map(row => {
        const { record, place } = readPlace(row, ordered)
        places.set(record, place)
        return record as Item
      })
    },
    cursorOf(item) {
      const place = places.get(item as object)
      if (place !== undefined) return place
      throw new InvalidArgumentError('Only records that this source has fetched have a place in it.')
    },
  }
}

export function directionFrom({ order = 'asc' }: KeysetOptions): Direction {
  if (order === 'asc') return { word: 'asc', beyond: '>', from: '>=' }
  if (order === 'desc') return { word: 'desc', beyond: '<', from: '<=' }
  throw new InvalidArgumentError(`The order of records must be 'asc' or 'desc', not ${String(order)}.`)
}

/** Names become part of the statement, so nothing but plain names may pass. */
export function columnName(name: unknown, what: string, pattern = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/): string {
  if (typeof name === 'string' && pattern.test(name)) return name
  throw new InvalidArgumentError(
    `\`${what}\` must be the plain name of a column, not ${JSON.stringify(name)}. Give the column another name in the query if it has none.`,
  )
}

function rowsIn(rows: unknown): readonly unknown[] {
  if (Array.isArray(rows)) return rows
  throw new InvalidArgumentError(
    'A page must be a list of rows: return `result.rows`, or the first part of what the driver answers.',
  )
}
