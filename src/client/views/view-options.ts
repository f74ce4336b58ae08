/** What may be asked of lists of workflows by name, without any class at hand. Checked before it reaches the store. */
import { checkKey } from '../../engine/check-key.ts'
import { InvalidArgumentError } from '../../errors.ts'
import { type Duration, toMilliseconds } from '../../primitives/duration.ts'
import { optionNames, refuseUnknownOptions } from '../../primitives/refuse-unknown-options.ts'
import type { HeroKey } from '../../store/records.ts'
import type { Store } from '../../store/store.ts'
import type { TimeRange, ViewFilter } from '../../store/view-store.ts'
import { type StateFilter, statesFrom } from '../workflow-list.ts'

export interface ViewOptions {
  readonly state?: StateFilter | readonly StateFilter[]
  /** Stored names of classes; empty for graphs that were built at run time. */
  readonly type?: string | readonly string[]
  readonly hero?: { readonly type: string; readonly id: string }
  readonly tag?: string
  /** The step that the workflow stands at, or that has failed. Without a state, of those that are active. */
  readonly at?: string
  /**
   * A part of the message or class of an error of a step. Without a state it is looked for where an error is likely to
   * stand: in workflows that are paused, in the dlq, rolled back, or have ended other than `finished`.
   */
  readonly error?: string
  readonly createdAfter?: Date
  readonly createdBefore?: Date
  /** Started at least so long ago, by the clock of the database. */
  readonly olderThan?: Duration
  /** Started within so long, by the clock of the database. */
  readonly newerThan?: Duration
  /** The id of a workflow, or the beginning of the id of a hero. */
  readonly q?: string
  /** Workflows that nodes of this one have started. */
  readonly parent?: string
}

export interface PageOptions {
  /** 1 to 500. Default 50. */
  readonly limit?: number
  /** Where the page before ended. */
  readonly cursor?: string
}

/** `nextCursor` is `null` on the last page. A page may be short, and even empty, before that: looking has its time. */
export interface Page<Item> {
  readonly items: readonly Item[]
  readonly nextCursor: string | null
}

const knownOfPage = optionNames<PageOptions>({ limit: 0, cursor: 0 })
const knownOfView = optionNames<ViewOptions>({
  state: 0,
  type: 0,
  hero: 0,
  tag: 0,
  at: 0,
  error: 0,
  createdAfter: 0,
  createdBefore: 0,
  olderThan: 0,
  newerThan: 0,
  q: 0,
  parent: 0,
})
const errorStates = ['paused', 'dlq', 'rolling_back', 'failed', 'canceled', 'aborted'] as const
const maxText = 191

/** `others`: what else may be given for a page of something. */
export function refuseUnknownOfPage(what: string, options: PageOptions, others: readonly string[] = []): void {
  refuseUnknownOptions(what, options, [...others, ...knownOfPage])
}

export async function viewFilterFrom(store: Store, options: ViewOptions & PageOptions): Promise<ViewFilter> {
  refuseUnknownOfPage('The filter of workflows', options, knownOfView)
  const { type, hero, tag, at, error, q, parent } = options
  const state = options.state ?? (at !== undefined ? 'active' : error === undefined ? undefined : errorStates)
  if (parent !== undefined && !store.isId(parent)) throw new InvalidArgumentError(`${JSON.stringify(parent)} is no id.`)
  return {
    ...(state === undefined ? {} : { states: statesFrom(state) }),
    ...(type === undefined
      ? {}
      : { types: [type].flat().map(name => (name === '' ? '' : checkKey(name, 'The type'))) }),
    ...(hero === undefined ? {} : { hero: heroKeyFrom(hero) }),
    ...(tag === undefined ? {} : { tag: checkKey(tag, 'The tag') }),
    ...(at === undefined ? {} : { at: checkKey(at, 'The step') }),
    ...(error === undefined ? {} : { errorText: textFrom(error, 'The error') }),
    ...(await timeRangeFrom(store, options)),
    ...(q === undefined || q === '' ? {} : { search: textFrom(q, 'What is searched for') }),
    ...(parent === undefined ? {} : { parentId: parent }),
  }
}

/** Ages are counted back from the time of the database: workflows are stamped by it, and the clock here may be another. */
async function timeRangeFrom(store: Store, options: ViewOptions): Promise<TimeRange> {
  const { createdAfter, createdBefore, olderThan, newerThan } = options
  const ages = [olderThan, newerThan]
  const now = ages.every(age => age === undefined) ? 0 : await store.now()
  const ago = (age: Duration | undefined, what: string) =>
    age === undefined ? [] : [now - toMilliseconds(age, what) * 1000]
  const after = [...microsOf(createdAfter, 'createdAfter'), ...ago(newerThan, 'newerThan')]
  const before = [...microsOf(createdBefore, 'createdBefore'), ...ago(olderThan, 'olderThan')]
  return {
    ...(after.length === 0 ? {} : { createdAfter: Math.max(...after) }),
    ...(before.length === 0 ? {} : { createdBefore: Math.min(...before) }),
  }
}

/** The kind of the id does not matter for finding it: it is compared as text. */
export function heroKeyFrom({ type, id }: { readonly type: string; readonly id: string }): HeroKey {
  return { type: checkKey(type, 'The type of a hero'), idText: checkKey(id, 'The id of a hero'), idKind: 'string' }
}

export function limitFrom(limit = 50, most = 500): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= most) return limit
  throw new InvalidArgumentError(`The page size must be a whole number from 1 to ${most}, not ${String(limit)}.`)
}

export function cursorFrom(store: Store, cursor: string | undefined): string | null {
  if (cursor === undefined) return null
  if (store.isId(cursor)) return cursor
  throw wrongCursor(cursor)
}

/** A workflow, or one of its rows. */
export interface RowPlace {
  readonly workflowId: string
  readonly slot: string | null
}

export function rowCursor({ workflowId, slot }: RowPlace): string {
  return slot === null ? workflowId : `${workflowId}/${slot}`
}

export function rowPlaceFrom(store: Store, cursor: string | undefined): RowPlace | null {
  if (cursor === undefined) return null
  const end = cursor.indexOf('/')
  const workflowId = end === -1 ? cursor : cursor.slice(0, end)
  if (!store.isId(workflowId) || cursor.includes('\0')) throw wrongCursor(cursor)
  return { workflowId, slot: end === -1 ? null : cursor.slice(end + 1) }
}

export function wrongCursor(cursor: string): InvalidArgumentError {
  return new InvalidArgumentError(`The cursor ${JSON.stringify(cursor)} is not one that a page has given.`)
}

/** Pages that have no id to go on from count. */
export function offsetFrom(cursor: string | undefined): number {
  if (cursor === undefined) return 0
  if (/^\d{1,9}$/.test(cursor)) return Number(cursor)
  throw wrongCursor(cursor)
}

function textFrom(text: string, what: string): string {
  return checkKey(text.slice(0, maxText), what)
}

function microsOf(date: Date | undefined, what: string): number[] {
  if (date === undefined) return []
  const time = date instanceof Date ? date.getTime() : Number.NaN
  if (Number.isFinite(time)) return [time * 1000]
  throw new InvalidArgumentError(`${what} must be a valid Date.`)
}
