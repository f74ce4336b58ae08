/**
 * A join that can never go on, because a branch that it could still have done with was skipped, left out or taken away by a
 * deploy: what the policy of a failed step in its branches said, and what has waited until now, acts. Pure changes to a draft.
 */
import { joinsOver } from '../definition/join-stretch.ts'
import type { LatestEnding } from '../store/change.ts'
import type { ChangeDraft } from './change-draft.ts'
import { failedNodes } from './failed-nodes.ts'
import { giveUp } from './give-up.ts'
import { isSelective } from './joins.ts'
import { lostNodesOf } from './lost-nodes.ts'
import { latestUnder } from './parents.ts'
import { currentName, ownerOf, type Plan } from './plan.ts'
import { rollbackOf } from './rollback.ts'
import { blockerAmong, type WaitingAction, waitingPolicyOf } from './waiting-policy.ts'
import { rollBack } from './wind-down.ts'

/** Of several policies the one that goes furthest. Where none stops the workflow, it is stuck behind the failed step. */
export function actOnLostJoins(draft: ChangeDraft, plan: Plan): void {
  const { finishing, blockedBy } = draft.workflow
  const isOpen = (draft.state === 'ready' || draft.isHeld) && !finishing
  // A join may also have gone with the deploy.
  if (!isOpen || !(isSelective(plan.graph) || plan.heals)) return
  const failed = failedNodes(draft, plan).filter(({ state }) => state === 'failed')
  // While a node that the code has lost is not settled, nobody knows whether that branch is to be gone for good.
  const lost = new Set(lostNodesOf(draft, plan))
  const waiting = lost.size === 0 ? stillWaiting(draft, plan, failed) : []
  const saying = (action: WaitingAction) => waiting.filter(ending => waitingPolicyOf(ending)?.action === action)
  const [canceling] = saying('cancel')
  const [undoing] = saying('rollback')
  const letters = saying('dlq')
  const isStuck = (ending: LatestEnding) => lost.has(ending.node) || waitingPolicyOf(ending) === null
  const blocker = blockerAmong(lost.size === 0 ? failed : failed.filter(isStuck))
  if (canceling) rollBack(draft, plan, rollbackOf('cancel', whyLost(plan, canceling)))
  else if (undoing) rollBack(draft, plan, rollbackOf('failure', whyLost(plan, undoing)))
  else if (letters.length > 0) for (const ending of letters) giveUpLate(draft, plan, ending)
  else if (blocker !== null && blockedBy === null) draft.setWorkflow({ blockedBy: blocker })
}

/** What will act, once nothing that the code has lost is left to be settled. */
export function overdueAction(draft: ChangeDraft, plan: Plan): WaitingAction {
  const failed = failedNodes(draft, plan).filter(({ state }) => state === 'failed')
  const actions = stillWaiting(draft, plan, failed).map(ending => waitingPolicyOf(ending)?.action)
  return (['cancel', 'rollback', 'dlq'] as const).find(action => actions.includes(action)) ?? 'pause'
}

/** Not if the join was lost by a failure, whose own policy has acted then: people have been asked, and what they do counts. */
function stillWaiting(draft: ChangeDraft, plan: Plan, failed: readonly LatestEnding[]): LatestEnding[] {
  const { blockedBy } = draft.workflow
  const acted = failed.filter(ending => waitingPolicyOf(ending) === null).map(({ node }) => node)
  const settled = [...acted, ...(blockedBy === null ? [] : [blockedBy])].map(node => {
    const name = currentName(plan, node)
    return ownerOf(name) ?? name
  })
  return failed.filter(ending => {
    const joins = joinsOver(plan.graph, currentName(plan, ending.node))
    if (waitingPolicyOf(ending) === null || wasPassed(draft, plan, ending)) return false
    return !joins.some(({ losers }) => settled.some(node => losers.has(node)))
  })
}

/** A join has gone on without it, by a graph that the workflow went by before. */
function wasPassed(draft: ChangeDraft, plan: Plan, { node }: LatestEnding): boolean {
  const name = currentName(plan, node)
  const behind = plan.graph.childrenOf(ownerOf(name) ?? name)
  return behind.some(({ id }) => latestUnder(draft, plan, id)?.state === 'completed')
}

/** What went wrong is recorded with the attempt. */
function giveUpLate(draft: ChangeDraft, plan: Plan, ending: LatestEnding): void {
  const { failures = 1 } = waitingPolicyOf(ending) ?? {}
  const reason = failures > 1 ? 'retries_exhausted' : 'policy'
  giveUp(draft, plan, ending, { error: null, reason, why: whyLost(plan, ending) })
}

function whyLost({ graph }: Plan, { node }: LatestEnding): string {
  return `step ${graph.nameOf(node)} has failed, and no join can do without it any more`
}
