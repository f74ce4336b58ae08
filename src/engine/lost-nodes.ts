/** Nodes that the newest code does not have, and what it says about them: that a workflow goes on without them, or nothing. */
import type { Graph } from '../definition/graph.ts'
import { StepMissingError } from '../errors.ts'
import { describeError } from '../primitives/describe-error.ts'
import type { ChangeDraft } from './change-draft.ts'
import { currentName, ownerOf, type Plan } from './plan.ts'
import { childOf } from './wind-down.ts'

/** `node` by its present name. Of an item, what counts is the node that it belongs to. */
export function isSkippedWhenLost(graph: Graph, node: string): boolean {
  return graph.data.onMissingStep === 'skip' && graph.find(node) === null
}

/**
 * A lost node that waits for people or a message is skipped at once: nobody can decide on it or signal it any more, so that it
 * would never be claimed. What waits for a child or for its items goes on when these have ended, and is skipped then.
 */
export function skipLostWaits(draft: ChangeDraft, plan: Plan): void {
  if (plan.graph.data.onMissingStep !== 'skip') return
  for (const row of draft.rows()) {
    const name = currentName(plan, row.node)
    const isWait = row.state === 'waiting' && ownerOf(name) === null && childOf(row) === null
    if (!isWait || !isSkippedWhenLost(plan.graph, name) || hasItems(draft, plan, name)) continue
    const error = new StepMissingError(draft.workflowId, draft.facts.workflow.type, row.node)
    // Nothing has thrown it, so that its stack would tell of the engine alone.
    draft.end(row, 'skipped', 'skipped_by_exception', { error: { ...describeError(error), stack: null } })
  }
}

function hasItems(draft: ChangeDraft, plan: Plan, each: string): boolean {
  const names = [...draft.rows().map(row => row.node), ...draft.endedNodes()]
  return names.some(name => ownerOf(currentName(plan, name)) === each)
}
