/** Nodes that the newest code does not have, and what it says about them: that a workflow goes on without them, or nothing. */
import type { Graph } from '../definition/graph.ts'
import { StepMissingError } from '../errors.ts'
import { describeError } from '../primitives/describe-error.ts'
import type { ChangeDraft } from './change-draft.ts'
import { isSatisfied } from './is-satisfied.ts'
import { currentName, ownerOf, type Plan } from './plan.ts'
import { childOf } from './wind-down.ts'

/** Nothing is left to be done about it: it lay on a way that was not taken, or a join went on without it. */
const leftBehind: ReadonlySet<string> = new Set(['not_taken', 'superseded'])

/** Nodes that the code does not have, and that somebody has to settle: they have a row, or have failed. By their present names. */
export function lostNodesOf(draft: ChangeDraft, plan: Plan): string[] {
  const rows = new Set(draft.rows().map(row => currentName(plan, row.node)))
  const isKnown = (name: string) => plan.graph.find(currentName(plan, name)) !== null
  const active = [...rows].filter(name => !isKnown(name))
  const failed = [...draft.endedNodes()].filter(name => {
    const latest = draft.latestOf(name)
    const owner = ownerOf(name)
    // An item matters as long as its node waits for it.
    const matters = owner === null || rows.has(currentName(plan, owner))
    return matters && !isKnown(name) && latest !== null && !isSatisfied(latest) && !leftBehind.has(latest.outcome)
  })
  return [...new Set([...active, ...failed])]
}

/** `node` by its present name. Of an item, what counts is the node that it belongs to. */
export function isSkippedWhenLost(graph: Graph, node: string): boolean {
  return graph.data.onMissingStep === 'skip' && graph.find(node) === null
}

/**
 * A lost node that waits for people or a message ends at once: nobody can decide on it or signal it any more, so that it would
 * never be claimed. What waits for a child or for its items goes on when these have ended, and ends then.
 */
export function endLostWaits(draft: ChangeDraft, plan: Plan): void {
  for (const row of draft.rows()) {
    const name = currentName(plan, row.node)
    const isWait = row.state === 'waiting' && ownerOf(name) === null && childOf(row) === null
    if (!isWait || plan.graph.find(name) !== null || hasItems(draft, plan, name)) continue
    const missing = new StepMissingError(draft.workflowId, draft.facts.workflow.type, row.node)
    // Nothing has thrown it, so that its stack would tell of the engine alone.
    const error = { ...describeError(missing), stack: null }
    if (isSkippedWhenLost(plan.graph, name)) draft.end(row, 'skipped', 'skipped_by_exception', { error })
    else {
      draft.end(row, 'failed', 'paused_by_exception', { error })
      draft.setWorkflow({ blockedBy: draft.workflow.blockedBy ?? row.node })
    }
  }
}

/** The node has items, or has had some. */
export function hasItems(draft: ChangeDraft, plan: Plan, each: string): boolean {
  const names = [...draft.rows().map(row => row.node), ...draft.endedNodes()]
  return names.some(name => ownerOf(currentName(plan, name)) === each)
}
