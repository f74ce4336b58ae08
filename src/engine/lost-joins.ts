/**
 * A join that can never go on, because a branch that it could still have done with was skipped or left out: what the
 * policy of a failed step in its branches said, and what has waited until now, acts. Pure changes to a draft.
 */
import type { LatestEnding } from '../store/change.ts'
import type { ChangeDraft } from './change-draft.ts'
import { failedNodes } from './failed-nodes.ts'
import { isSelective } from './joins.ts'
import type { Plan } from './plan.ts'
import { rollbackOf } from './rollback.ts'
import { rollBack } from './wind-down.ts'

/** Of several policies the one that goes furthest. Where none ends the workflow, it is stuck behind the failed step. */
export function actOnLostJoins(draft: ChangeDraft, plan: Plan): void {
  const { finishing, blockedBy } = draft.workflow
  const isOpen = (draft.state === 'ready' || draft.isHeld) && !finishing
  // Where a step has failed for good already, its policy has acted.
  if (!isOpen || blockedBy !== null || !isSelective(plan.graph)) return
  const failed = failedNodes(draft, plan).filter(({ state }) => state === 'failed')
  const [canceling] = failed.filter(({ outcome }) => outcome === 'canceled_by_exception')
  const [undoing] = failed.filter(({ outcome }) => outcome === 'rolled_back_by_exception')
  const [first] = failed
  if (canceling) rollBack(draft, plan, rollbackOf('cancel', whyLost(plan, canceling)))
  else if (undoing) rollBack(draft, plan, rollbackOf('failure', whyLost(plan, undoing)))
  else if (first) draft.setWorkflow({ blockedBy: first.node })
}

function whyLost({ graph }: Plan, { node }: LatestEnding): string {
  return `step ${graph.nameOf(node)} has failed, and no join can do without it any more`
}
