/**
 * The items of an `each` node: one execution for each, a node of its own, joined by the node they belong to, which waits
 * meanwhile. Where their number at one time is limited, the rest waits for a place.
 */
import { type GraphNode, itemSeparator } from '../definition/graph.ts'
import type { NewExecution } from '../store/change.ts'
import type { ActiveExecution } from '../store/records.ts'
import type { ChangeDraft, LiveRow } from './change-draft.ts'
import { itemSlots, type Plan, type RunOn, slotOf } from './plan.ts'
import { arrive, insertFirst } from './schedule.ts'

export function insertItems(
  draft: ChangeDraft,
  plan: Plan,
  each: ActiveExecution,
  items: readonly string[],
): NewExecution[] {
  draft.move(each, 'waiting')
  draft.setOpenParents(each.node, items.length)
  const limit = plan.graph.node(each.node).concurrency ?? items.length
  return items.map((input, index) => {
    const node = plan.graph.node(`${each.node}${itemSeparator}${index}`)
    return insertFirst(draft, plan, node, index < limit ? { input } : { input, state: 'waiting' })
  })
}

/** An item is done: its place goes to the next, and the last one ends the node that they belong to. */
export function satisfyItem(draft: ChangeDraft, plan: Plan, each: GraphNode, runOn: RunOn | null): NewExecution[] {
  const open = (draft.openParents(each.id) ?? 1) - 1
  draft.setOpenParents(each.id, open)
  if (open > 0) {
    letNextGo(draft, each)
    return []
  }
  const row = draft.rowIn(slotOf(plan.graph, each.id))
  if (row === null) return []
  draft.end(row, 'completed', 'success')
  return arrive(draft, plan, row, runOn)
}

/** An item has failed for good: it leaves its place to the next. */
export function leavePlace(draft: ChangeDraft, plan: Plan, node: string): void {
  const each = plan.graph.eachOf(node)
  if (each !== null) letNextGo(draft, each)
}

/** The node is settled without them: what is left of its items goes with it. None of them may run. */
export function leaveOutItems(draft: ChangeDraft, each: GraphNode): void {
  for (const row of itemsIn(draft, each)) draft.end(row, 'canceled', 'superseded')
  draft.setOpenParents(each.id, 0)
}

export function itemsIn(draft: ChangeDraft, each: GraphNode): LiveRow[] {
  const prefix = itemSlots(each.id)
  return draft.rows().filter(row => row.slot.startsWith(prefix))
}

/** The places that are free for items which begin again. All rows must be in sight. */
export class FreePlaces {
  readonly #draft: ChangeDraft
  readonly #plan: Plan
  readonly #free = new Map<string, number>()

  constructor(draft: ChangeDraft, plan: Plan) {
    this.#draft = draft
    this.#plan = plan
  }

  /** How the next attempt at a node begins: an item that gets no place waits for one. */
  take(node: string): { readonly state?: 'waiting' } {
    const each = this.#plan.graph.eachOf(node)
    if (each?.concurrency === undefined) return {}
    const free = this.#free.get(each.id) ?? each.concurrency - busyIn(itemsIn(this.#draft, each))
    this.#free.set(each.id, free - 1)
    return free > 0 ? {} : { state: 'waiting' }
  }
}

function busyIn(items: readonly LiveRow[]): number {
  return items.filter(row => row.state !== 'waiting').length
}

/** Of the rows that are in sight those that have ended are gone, so there is a place unless all are taken again. */
function letNextGo(draft: ChangeDraft, each: GraphNode): void {
  if (each.concurrency === undefined) return
  const items = itemsIn(draft, each)
  if (busyIn(items) >= each.concurrency) return
  const waiting = items.filter(row => row.state === 'waiting').toSorted((a, b) => (a.slot < b.slot ? -1 : 1))
  const [next] = waiting
  if (next) draft.move(next, draft.state === 'paused' ? 'paused' : 'scheduled', { due: { inMs: 0 } })
}
