/**
 * Going back opens a new round: the nodes from the target to the one that says so get a next attempt as they fall due, with
 * fresh counters. What earlier rounds have done stays, and is undone too in a rollback. Pure changes to a draft.
 */
import type { Graph } from '../definition/graph.ts'
import type { ChangeDraft, Request } from './change-draft.ts'
import { heal } from './heal.ts'
import { currentName, nameBeside, ownerOf, type Plan } from './plan.ts'

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
  const ended = [...draft.endedNodes()].filter(node => {
    const name = currentName(plan, node)
    return stretch.has(ownerOf(name) ?? name)
  })
  const rounds: Record<string, number> = { ...draft.workflow.rounds }
  for (const node of ended) rounds[node] = draft.lastOf(node)?.attempt ?? draft.attemptsBefore(node)
  draft.setWorkflow({ rounds })
  const nodeName = nameBeside(plan.graph.node(target))
  draft.note('workflow.went_back', { node: target, nodeName, by: request.by, reason: request.reason })
  // Where every node stands is clear from what has ended in this round: the rest follows from the graph.
  heal(draft, plan)
}

/** Every node that comes after the one and before the other, both included. */
export function stretchBetween(graph: Graph, first: string, last: string): Set<string> {
  const after = graph.descendantsOf(first)
  const before = new Set([first, last])
  for (const id of after) if (graph.descendantsOf(id).has(last)) before.add(id)
  return before
}
