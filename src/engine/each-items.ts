/**
 * The items of an `each` node: one execution for each, a node of its own, joined by the node they belong to, which waits
 * meanwhile. Where their number at one time is limited, the rest waits for a place.
 */
import { type GraphNode, itemSeparator } from '../definition/graph.ts'
import type { NewExecution } from '../store/change.ts'
import type { ActiveExecution } from '../store/records.ts'
import type { ChangeDraft, LiveRow } from './change-draft.ts'
import { itemsDone } from './items-done.ts'
import { isSelective } from './joins.ts'
import { currentName, ownerOf, type Plan, type RunOn, slotOf } from './plan.ts'
import { renameRow } from './rename-row.ts'
import { arrive, insertFirst, lostNode, passReadyJoins } from './schedule.ts'

/** What an `each` node is run over, and who may begin with it. */
interface Fan {
  readonly items: readonly string[]
  readonly runOn: RunOn | null
}

/** Those that the worker has places for begin at once. */
export function insertItems(
  draft: ChangeDraft,
  plan: Plan,
  row: ActiveExecution,
  { items, runOn }: Fan,
): NewExecution[] {
  const each = currentName(plan, row.node)
  draft.move(row, 'waiting')
  // From here on its items look for it where the code has it.
  const waiting = draft.rowIn(row.slot)
  if (waiting) renameRow(draft, plan, waiting)
  draft.setOpenParents(each, items.length)
  const limit = placesOf(plan, each)
  return items.map((input, index) => {
    const id = `${each}${itemSeparator}${index}`
    const options = index < limit ? { input, runOn } : { input, state: 'waiting' as const }
    const node = plan.graph.find(id)
    // Old code was asked for them, and the newest has no such node any more.
    if (node === null)
      return insertFirst(draft, plan, lostNode(plan.graph, id), { ...options, runOn: null, generation: 0 })
    return insertFirst(draft, plan, node, options)
  })
}

/** An item is done: its place goes to the next, and the last one ends the node that they belong to. */
export function satisfyItem(draft: ChangeDraft, plan: Plan, each: GraphNode, runOn: RunOn | null): NewExecution[] {
  const open = (draft.openParents(each.id) ?? 1) - 1
  draft.setOpenParents(each.id, open)
  if (open > 0) {
    letNextGo(draft, plan, each)
    // It may be the last that a branch with a failed item has waited for.
    return isSelective(plan.graph) ? passReadyJoins(draft, plan, runOn) : []
  }
  const row = draft.rowIn(slotOf(plan.graph, each.id))
  if (row === null) return []
  draft.end(row, 'completed', 'success', { reason: itemsDone })
  return arrive(draft, plan, row, runOn)
}

/** An item has failed for good: it leaves its place to the next. */
export function leavePlace(draft: ChangeDraft, plan: Plan, node: string): void {
  const each = plan.graph.eachOf(currentName(plan, node))
  if (each !== null) letNextGo(draft, plan, each)
}

/** The rows of a node's items that are in sight. */
export function itemsIn(draft: ChangeDraft, plan: Plan, each: string): LiveRow[] {
  return draft.rows().filter(row => ownerOf(currentName(plan, row.node)) === each)
}

/** The places that are free for items which begin again, or go on. All rows must be in sight. */
export class FreePlaces {
  readonly #draft: ChangeDraft
  readonly #plan: Plan
  readonly #isBusy: (row: LiveRow) => boolean
  readonly #free = new Map<string, number>()

  /** `isBusy`: which items have a place. */
  constructor(draft: ChangeDraft, plan: Plan, isBusy = hasPlace) {
    this.#draft = draft
    this.#plan = plan
    this.#isBusy = isBusy
  }

  /** How a node begins or goes on: an item that gets no place waits for one. */
  take(node: string): { readonly state?: 'waiting' } {
    const each = ownerOf(currentName(this.#plan, node))
    if (each === null) return {}
    const free = this.#free.get(each) ?? this.#freeIn(each)
    this.#free.set(each, free - 1)
    return free > 0 ? {} : { state: 'waiting' }
  }

  #freeIn(each: string): number {
    return placesOf(this.#plan, each) - itemsIn(this.#draft, this.#plan, each).filter(this.#isBusy).length
  }
}

/** Of a node that the code has lost nobody knows how many of its items may be under way. */
function placesOf({ graph }: Plan, each: string): number {
  const node = graph.find(each)
  return node?.kind === 'each' ? (node.concurrency ?? Number.POSITIVE_INFINITY) : 1
}

/** The limit was lowered since they began: a place that falls free is none. All rows must be in sight. */
export function isCrowded(draft: ChangeDraft, plan: Plan, { id, concurrency }: GraphNode): boolean {
  return concurrency !== undefined && busyIn(itemsIn(draft, plan, id)) > concurrency
}

function busyIn(items: readonly LiveRow[]): number {
  return items.filter(hasPlace).length
}

function hasPlace({ state }: LiveRow): boolean {
  return state !== 'waiting'
}

/** Of the rows that are in sight those that have ended are gone, so there is a place unless all are taken again. */
function letNextGo(draft: ChangeDraft, plan: Plan, each: GraphNode): void {
  if (each.concurrency !== undefined) fillPlaces(draft, plan, each.id, 1)
}

/** Gives free places to items that wait for one, in order. Where `most` is not given, all rows must be in sight. */
export function fillPlaces(draft: ChangeDraft, plan: Plan, each: string, most = Number.POSITIVE_INFINITY): void {
  const items = itemsIn(draft, plan, each)
  const free = placesOf(plan, each) - busyIn(items)
  const waiting = items.filter(row => row.state === 'waiting').toSorted((a, b) => (a.slot < b.slot ? -1 : 1))
  for (const next of waiting.slice(0, Math.max(0, Math.min(free, most)))) {
    draft.move(next, draft.isHeld ? 'paused' : 'scheduled', { due: { inMs: 0 } })
  }
}
