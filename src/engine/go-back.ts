/**
 * Going back opens a new round: the nodes from the target to the one that says so get a next attempt as they fall due, with
 * fresh counters. What earlier rounds have done stays, and is undone too in a rollback. Pure changes to a draft.
 */
import type { Graph } from '../definition/graph.ts'
import { nextRounds } from '../store/rounds.ts'
import type { ChangeDraft, LiveRow, Request } from './change-draft.ts'
import { heal } from './heal.ts'
import { currentName, nameBeside, ownerOf, type Plan } from './plan.ts'
import { leftBehindReason } from './rollback.ts'
import { stopChild } from './wind-down.ts'

export interface Return {
  /** The node that sends the workflow back, which has ended. */
  readonly from: string
  /** The node that it goes on with. */
  readonly to: string
  readonly request: Request
}

export function goBack(draft: ChangeDraft, plan: Plan, { from, to, request }: Return): void {
  const target = currentName(plan, to)
  const stretch = stretchBetween(plan.graph, target, currentName(plan, from))
  const isDoneAgain = (node: string) => {
    const name = currentName(plan, node)
    return stretch.has(ownerOf(name) ?? name)
  }
  for (const row of draft.rows()) if (isDoneAgain(row.node)) leaveBehind(draft, plan, row)
  const last = [...draft.endedNodes()].filter(isDoneAgain).flatMap(node => draft.lastOf(node) ?? [])
  draft.setWorkflow({ rounds: nextRounds(draft.workflow.rounds, last) })
  const nodeName = nameBeside(plan.graph.node(target))
  draft.note('workflow.went_back', { node: target, nodeName, by: request.by, reason: request.reason })
  // Where every node stands is clear from what has ended in this round: the rest follows from the graph.
  heal(draft, plan)
}

/** What a join went on without may still run, and would count as begun in the new round. Its call may have happened, and may go on. */
function leaveBehind(draft: ChangeDraft, plan: Plan, row: LiveRow): void {
  if (row.state === 'in_progress') {
    draft.end(row, 'skipped', 'stopped', { reason: leftBehindReason })
    return
  }
  const left = stopChild(draft, row, { by: null, reason: null }, plan)
  draft.end(left, 'canceled', 'superseded', { reason: 'the workflow went back' })
}

/** Every node that comes after the one and before the other, both included. */
export function stretchBetween(graph: Graph, first: string, last: string): Set<string> {
  const after = graph.descendantsOf(first)
  const before = new Set([first, last])
  for (const id of after) if (graph.descendantsOf(id).has(last)) before.add(id)
  return before
}
