/** What a node comes after: the latest attempts of its parents, whatever their names were then. */
import type { GraphNode } from '../definition/graph.ts'
import type { LatestEnding } from '../store/change.ts'
import type { ChangeDraft } from './change-draft.ts'
import { chainSlot, ownerOf, type Plan, slotOf } from './plan.ts'

/** What an execution comes after: the latest attempts of the parents that were taken. */
export function parentsOf(
  draft: ChangeDraft,
  plan: Plan,
  node: GraphNode,
): Pick<LatestEnding, 'id' | 'ordinal' | 'ancestry'>[] {
  // An item begins while the node that it belongs to waits, which may have been a step of a chain until now.
  if (node.kind === 'item') {
    return [draft.rowIn(slotOf(plan.graph, node.dependsOn[0] ?? '')) ?? draft.rowIn(chainSlot) ?? []].flat()
  }
  const parents: Pick<LatestEnding, 'id' | 'ordinal' | 'ancestry'>[] = []
  for (const id of node.dependsOn) {
    const parent = latestUnder(draft, plan, id)
    if (parent === null || parent.outcome === 'not_taken') continue
    // The items of an `each` node stand between it and what comes after it.
    parents.push(plan.graph.find(id)?.kind === 'each' ? { ...parent, ordinal: parent.ordinal + 1 } : parent)
  }
  return parents
}

/**
 * Its place in history, behind all of these. What opens a new round comes after everything that the rounds before have done,
 * and what follows it comes after that by its parents.
 */
export function ordinalBehind(
  draft: ChangeDraft,
  plan: Pick<Plan, 'renamed'>,
  node: GraphNode,
  before: readonly Pick<LatestEnding, 'ordinal'>[],
): number {
  const latest = before.reduce((most, { ordinal }) => Math.max(most, ordinal), 0)
  if (draft.workflow.rounds === null) return latest + 1
  const opensRound = namesOf(plan, node.id).some(name => earlierOrdinal(draft, name) > latest)
  if (!opensRound) return latest + 1
  return 1 + [...draft.endedNodes()].reduce((most, name) => Math.max(most, earlierOrdinal(draft, name)), latest)
}

/** Where the earlier rounds have left the node; zero if it has ended in this one, or never. */
function earlierOrdinal(draft: ChangeDraft, name: string): number {
  const last = draft.lastOf(name)
  return last !== null && last.attempt <= draft.attemptsBefore(name) ? last.ordinal : 0
}

/** The name of a node and those that it had before. */
export function namesOf({ renamed }: Pick<Plan, 'renamed'>, id: string): string[] {
  if (renamed.size === 0) return [id]
  const name = ownerOf(id) ?? id
  const item = id.slice(name.length)
  return [id, ...[...renamed].filter(([, now]) => now === name).map(([before]) => `${before}${item}`)]
}

/** The latest ended attempt of a node, whatever its name was then. */
export function latestUnder<Ended>(
  attempts: { latestOf(node: string): Ended | null },
  plan: Pick<Plan, 'renamed'>,
  id: string,
): Ended | null {
  if (plan.renamed.size === 0) return attempts.latestOf(id)
  const all = namesOf(plan, id).map(name => attempts.latestOf(name))
  return all.find(ending => ending !== null) ?? null
}
