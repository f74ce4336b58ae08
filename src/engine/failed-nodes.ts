/** Nodes that have failed and keep what depends on them waiting until somebody does something about them. */
import type { LatestEnding } from '../store/change.ts'
import { type Attempts, type HowEnded, isBeaten, isSelective, SelectiveJoins } from './joins.ts'
import { latestUnder } from './parents.ts'
import { currentName, ownerOf, type Plan } from './plan.ts'

/** Nodes whose latest attempt has failed, or was given up by `this.pause()`, and that nothing is planned for. */
export function failedNodes<Ended extends HowEnded>(
  attempts: Attempts<Ended>,
  plan: Pick<Plan, 'graph' | 'renamed'>,
): Ended[] {
  const active = new Set(attempts.rows().map(row => currentName(plan, row.node)))
  const names = new Set([...attempts.endedNodes()].map(node => currentName(plan, node)))
  // What a join can do without has ended its branch, and that is all.
  const joins = isSelective(plan.graph) ? new SelectiveJoins(attempts, plan) : null
  return [...names].flatMap(name => {
    const latest = latestUnder(attempts, plan, name)
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

/** A failed node that a person may settle: also one that a join can do without, as long as the join has not gone on. It has no row. */
export function openFailure<Ended extends HowEnded>(
  attempts: Attempts<Ended>,
  plan: Pick<Plan, 'graph' | 'renamed'>,
  name: string,
): Ended | null {
  const latest = latestUnder(attempts, plan, name)
  const each = ownerOf(name)
  const isWanted = each === null || attempts.rows().some(row => currentName(plan, row.node) === each)
  return latest !== null && hasFailed(latest) && isWanted && !isBeaten(attempts, plan, name) ? latest : null
}

export function hasFailed({ state, outcome }: Pick<LatestEnding, 'state' | 'outcome'>): boolean {
  return state === 'failed' || (state === 'canceled' && outcome === 'canceled_by_flow_control')
}
