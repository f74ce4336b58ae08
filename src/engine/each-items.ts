/**
 * The items of an `each` node: one execution for each, a node of its own, joined by the node they belong to, which waits
 * meanwhile. Where their number at one time is limited, the rest waits for a place.
 */
import { type GraphNode, itemSeparator } from '../definition/graph.ts'
import type { NewExecution } from '../store/change.ts'
import type { ActiveExecution } from '../store/records.ts'
import type { ChangeDraft } from './change-draft.ts'
import { currentName, itemSlots, type Plan, type RunOn, slotOf } from './plan.ts'
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

/** An item is done: the last one ends the node that they belong to. */
export function satisfyItem(draft: ChangeDraft, plan: Plan, each: GraphNode, runOn: RunOn | null): NewExecution[] {
  const open = (draft.openParents(each.id) ?? 1) - 1
  draft.setOpenParents(each.id, open)
  if (open > 0) return []
  const row = draft.rowIn(slotOf(plan.graph, each.id))
  if (row === null) return []
  draft.end(row, 'completed', 'success')
  return arrive(draft, plan, row, runOn)
}

/** If the node is an item that was under way: it leaves its place to the next one. */
export function leavePlace(draft: ChangeDraft, plan: Plan, node: string): void {
  const each = plan.graph.eachOf(currentName(plan, node))
  if (each?.concurrency === undefined) return
  const prefix = itemSlots(each.id)
  const next = draft.rows().find(row => row.state === 'waiting' && row.slot.startsWith(prefix))
  if (next) draft.move(next, draft.state === 'paused' ? 'paused' : 'scheduled', { due: { inMs: 0 } })
}
