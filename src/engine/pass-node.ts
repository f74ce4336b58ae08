/**
 * Nodes that end in the moment in which they fall due: forks, joins and save points, which do nothing themselves, and
 * nodes on a way that is not taken. Each leaves a row in history like any other. Pure changes to a draft.
 */
import type { GraphNode } from '../definition/graph.ts'
import type { LatestEnding } from '../store/change.ts'
import { noProgress } from '../store/records.ts'
import { ancestryOf } from './ancestry.ts'
import type { ChangeDraft } from './change-draft.ts'
import { latestUnder, ordinalBehind, parentsOf } from './parents.ts'
import { nameBeside, type Plan } from './plan.ts'

/** Nobody has to run it. */
export function isPassive({ kind }: Pick<GraphNode, 'kind'>): boolean {
  return kind === 'fork' || kind === 'join' || kind === 'savePoint'
}

/** It has fallen due, and with that it is done. */
export function passNode(draft: ChangeDraft, plan: Plan, node: GraphNode): void {
  draft.insertEnded(rowFor(draft, plan, node), 'completed', 'success')
}

/** It lies on a way that is not taken, or came too late. */
export function leaveOut(draft: ChangeDraft, plan: Plan, node: GraphNode, reason: string): void {
  draft.insertEnded(rowFor(draft, plan, node), 'skipped', 'not_taken', { reason })
}

/** Everything before it was left out, so it is too. A node that depends on nothing never is. */
export function isCutOff(draft: ChangeDraft, plan: Plan, node: GraphNode): boolean {
  const { dependsOn } = node
  return dependsOn.length > 0 && dependsOn.every(id => latestUnder(draft, plan, id)?.outcome === 'not_taken')
}

/** Whether a condition lets the node run; `null`: it has not come to a result, or was left out. */
export function isGuardOpen({ guard }: GraphNode, result: boolean | null): boolean {
  return guard === undefined || guard.when === result
}

/** What a condition came to: it is kept as the reason of its end, where every decision can see it. */
export function resultOf(ending: Pick<LatestEnding, 'state' | 'reason'> | null): boolean | null {
  if (ending?.state !== 'completed') return null
  return ending.reason === 'true' ? true : ending.reason === 'false' ? false : null
}

function rowFor(draft: ChangeDraft, plan: Plan, node: GraphNode) {
  const parents = parentsOf(draft, plan, node)
  const attempt = (latestUnder(draft, plan, node.id)?.attempt ?? draft.attemptsBefore(node.id)) + 1
  return {
    workflowId: draft.workflowId,
    id: plan.takeId(),
    node: node.id,
    nodeName: nameBeside(node),
    kind: 'forward' as const,
    attempt,
    ordinal: ordinalBehind(draft, plan, node, parents),
    startedAt: null,
    owner: null,
    createdAt: null,
    dueAt: null,
    progress: noProgress,
    input: null,
    ancestry: ancestryOf(node.id, attempt, parents),
  }
}
