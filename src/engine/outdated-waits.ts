/**
 * Nodes that waited for people or a message by the code before, and are of another kind by the newest: nobody could answer them
 * any more. They are called as what they are now. Pure changes to a draft.
 */
import type { GraphNode } from '../definition/graph.ts'
import type { ChangeDraft, LiveRow } from './change-draft.ts'
import { hasItems } from './lost-nodes.ts'
import { currentName, ownerOf, type Plan } from './plan.ts'
import { writeAnew } from './rename-row.ts'
import { dropWaitTimer } from './wait-timers.ts'
import { childOf } from './wind-down.ts'

export const noLongerWaits = 'it waits for nobody any more'

/** What waits for a child or for its items goes on when these have ended. All rows must be in sight. */
export function endOutdatedWaits(draft: ChangeDraft, plan: Plan): void {
  for (const row of draft.rows()) {
    if (row.state !== 'waiting' || ownerOf(row.node) !== null || childOf(row) !== null) continue
    const node = plan.graph.find(currentName(plan, row.node))
    if (node !== null && !waitsForAnswer(node) && !hasItems(draft, plan, node.id)) callInstead(draft, plan, row, node)
  }
}

/** It waits for what somebody says or sends. */
export function waitsForAnswer({ kind }: GraphNode): boolean {
  return kind === 'human' || kind === 'signal'
}

/** Only code that knows the node as it is now may claim it: older code would wait once more. */
export function callInstead(draft: ChangeDraft, plan: Plan, row: LiveRow, node: GraphNode): void {
  dropWaitTimer(draft, row)
  draft.move(row, draft.isHeld ? 'paused' : 'scheduled', { due: { inMs: 0 }, reason: noLongerWaits })
  const moved = draft.rowIn(row.slot)
  if (moved !== null) writeAnew(draft, plan, moved, { node, due: { inMs: 0 } })
}
