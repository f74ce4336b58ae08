/**
 * Where a record stands in the order of its source: by a column, and by its id among records that are equal in it. Kept
 * as the database itself would write it, because what a driver makes of a value may have lost its last digits.
 */
import { types } from 'node:util'
import { InvalidArgumentError } from '../errors.ts'

export type PlaceValue = string | number | bigint | boolean | Uint8Array

/** The cursor of `fromSql`, `fromKysely` and `fromDrizzle`. */
export interface RecordPlace {
  /** The value in the cursor column. A time is text, to its last digit. */
  readonly by?: PlaceValue
  /** What that text is to be read as, where it is a time and the database has to be told. */
  readonly as?: TimeType
  readonly id: PlaceValue
}

export type TimeType = 'timestamptz' | 'timestamp' | 'date'

/**
 * What every page selects besides the records themselves: the cursor column, the same as text, and the id. One lower-case
 * word each, so that no plugin that renames columns changes them.
 */
export const placeColumns = { by: 'genevaby', text: 'genevatext', id: 'genevaid' } as const

/** Long enough for any time. Every database knows the type, and only as text is a time exact. */
export const textOfPlace = 'char(64)'

/** A record as it was selected, taken apart. */
export interface PlacedRecord {
  readonly record: object
  readonly place: RecordPlace
}

export function readPlace(row: unknown, ordered: boolean): PlacedRecord {
  if (typeof row !== 'object' || row === null || !(placeColumns.id in row)) throw withoutPlace(row)
  const { [placeColumns.by]: by, [placeColumns.text]: text, [placeColumns.id]: id, ...record } = row as Selected
  if (!ordered) return { record, place: { id: exactValue(id, 'id') } }
  if (by === null || by === undefined) throw unplaced()
  const place = isValue(by) ? { by: exactValue(by, 'cursor column') } : timePlace(text)
  return { record, place: { ...place, id: exactValue(id, 'id') } }
}

interface Selected {
  readonly genevaby?: unknown
  readonly genevatext?: unknown
  readonly genevaid?: unknown
}

/** A record without a value in the cursor column would be met at one end of the order, or never. */
export function unplaced(): InvalidArgumentError {
  return new InvalidArgumentError(
    'There are records without a value (NULL) in the cursor column, which have no place in the order. Leave them out of the query, or use a column that always has a value.',
  )
}

/** A cursor that another source has written cannot be compared with the columns of this one. */
export function checkPlace(after: RecordPlace, ordered: boolean): void {
  const known = typeof after === 'object' && after !== null && 'id' in after && 'by' in after === ordered
  if (known) return
  throw new InvalidArgumentError(
    'The cursor of this step was not written by this source: its columns or its kind have changed since. Begin anew with `this.reattempt({ rewind: true })`, or keep the old source for workflows that are under way.',
  )
}

function isValue(value: unknown): value is PlaceValue {
  return ['string', 'number', 'bigint', 'boolean'].includes(typeof value) || types.isUint8Array(value)
}

function exactValue(value: unknown, what: string): PlaceValue {
  if (!isValue(value)) {
    throw new InvalidArgumentError(`The ${what} of a record must be a number, a text or bytes, not ${describe(value)}.`)
  }
  if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)) {
    throw new InvalidArgumentError(
      `The driver gives the ${what} ${value} as a number that has lost its last digits. Make it give texts or bigints, for example with \`supportBigNumbers\`.`,
    )
  }
  return value
}

/** Drivers make objects of times, and a Date has no microseconds: two records would share a place. */
function timePlace(text: unknown): { by: string; as?: TimeType } {
  if (typeof text !== 'string') throw withoutPlace(text)
  const by = text.trimEnd()
  const as = timeType(by)
  return as === null ? { by } : { by, as }
}

function timeType(text: string): TimeType | null {
  // Compares with a time of any kind.
  if (/^-?infinity$/.test(text)) return 'timestamp'
  const parts = /^\d{4,}-\d\d-\d\d( \d\d:\d\d:\d\d(?:\.\d+)?)?([+-]\d\d(?::\d\d){0,2})?(?: BC)?$/.exec(text)
  if (parts === null) return null
  return parts[1] === undefined ? 'date' : parts[2] === undefined ? 'timestamp' : 'timestamptz'
}

function withoutPlace(row: unknown): InvalidArgumentError {
  return new InvalidArgumentError(
    `A page must be a list of rows with the columns ${Object.values(placeColumns).join(', ')}, but it has ${describe(row)}. \`query\` returns the rows only, and a Drizzle query selects \`...page.place\`.`,
  )
}

function describe(value: unknown): string {
  if (value === null || typeof value !== 'object') return String(value)
  return Array.isArray(value) ? 'an array' : `an object with ${Object.keys(value).slice(0, 10).join(', ') || 'nothing'}`
}
