/** Nodes that have failed and keep what depends on them waiting until somebody does something about them. */
import type { LatestEnding } from '../store/change.ts'
import type { ChangeDraft } from './change-draft.ts'
import { isSelective, SelectiveJoins } from './joins.ts'
import { latestUnder } from './parents.ts'
import { currentName, ownerOf, type Plan } from './plan.ts'

/** Nodes whose latest attempt has failed, or was given up by `this.pause()`, and that nothing is planned for. */
export function failedNodes(draft: ChangeDraft, plan: Plan): LatestEnding[] {
  const active = new Set(draft.rows().map(row => currentName(plan, row.node)))
  const names = new Set([...draft.endedNodes()].map(node => currentName(plan, node)))
  // What a join can do without has ended its branch, and that is all.
  const joins = isSelective(plan.graph) ? new SelectiveJoins(draft, plan) : null
  return [...names].flatMap(name => {
    const latest = latestUnder(draft, plan, name)
    // An item matters as long as its node waits for it.
    const each = ownerOf(name)
    const isOver = active.has(name) || (each !== null && !active.has(each))
    if (latest === null || !hasFailed(latest) || isOver) return []
    // One that has paused the workflow, or that nobody knows the outcome of, did not end its branch: it goes on, unless nobody
    // waits for it any more.
    const endedBranch = latest.state === 'failed' && latest.outcome !== 'unknown'
    const isSpared = endedBranch ? joins?.isAbsorbed(name) : joins?.isBeaten(name)
    return isSpared ? [] : latest
  })
}

export function hasFailed({ state, outcome }: Pick<LatestEnding, 'state' | 'outcome'>): boolean {
  return state === 'failed' || (state === 'canceled' && outcome === 'canceled_by_flow_control')
}
