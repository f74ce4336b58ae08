/**
 * Brings a row under the name and into the slot that the code has for its node now. What runs is left alone: it keeps both
 * until it ends.
 */
import type { GraphNode } from '../definition/graph.ts'
import type { Due } from '../store/change.ts'
import type { ChangeDraft, LiveRow } from './change-draft.ts'
import { chainSlot, currentName, type Plan, queueOf, slotOf } from './plan.ts'
import { keepName } from './stored-input.ts'

export function renameRow(draft: ChangeDraft, plan: Plan, row: LiveRow): void {
  const name = currentName(plan, row.node)
  const node = plan.graph.find(name)
  if (node === null || !mayChange(row)) return
  const moved = row.handler !== plan.handlerOf(node)
  if (name === row.node && slotNow(draft, plan, row, name) === row.slot && !moved) return
  writeAnew(draft, plan, row, { node, due: row.due ?? { at: row.dueAt ?? 0 } })
}

/** The same attempt, as code that knows the node as it is now would have it. */
export function writeAnew(
  draft: ChangeDraft,
  plan: Plan,
  row: LiveRow,
  { node, due }: { readonly node: GraphNode; readonly due: Due },
): void {
  const name = currentName(plan, row.node)
  draft.rename(row, {
    ...row,
    slot: slotNow(draft, plan, row, name),
    node: name,
    handler: plan.handlerOf(node),
    queue: queueOf(plan.graph, node),
    priority: node.priority,
    generation: plan.generation,
    due,
    // It may have been called under the former name, and must be known by it to whoever deduplicates its calls.
    input: name === row.node ? row.input : keepName(row.input, row.node),
    // What came after it goes by the hash that it had: it stays, and is verified by the former name.
    ancestry: row.ancestry,
  })
}

/** A row that is written anew cannot say that it was held after it had begun. One that was just inserted has its name. */
function mayChange(row: LiveRow): boolean {
  return row.state !== 'in_progress' && row.heldFrom !== 'suspended' && row.createdAt !== null
}

/** Another row may still stand in the slot of a graph that has become a chain. */
function slotNow(draft: ChangeDraft, { graph }: Plan, row: LiveRow, name: string): string {
  if (name === row.node && row.slot !== chainSlot) return row.slot
  const slot = slotOf(graph, name)
  const there = draft.rowIn(slot)
  return there === null || there.id === row.id ? slot : row.slot
}
