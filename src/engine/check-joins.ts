/** What code that is about to be deployed does to the joins of a workflow that need not wait for all: in sentences, before it happens. Pure. */
import { type JoinStretch, selectiveJoins } from '../definition/join-stretch.ts'
import type { ChangeDraft } from './change-draft.ts'
import { failedNodes } from './failed-nodes.ts'
import { type JoinFate, SelectiveJoins } from './joins.ts'
import { overdueAction } from './lost-joins.ts'
import { lostNodesOf } from './lost-nodes.ts'
import { currentName, ownerOf, type Plan } from './plan.ts'
import type { WaitingAction } from './waiting-policy.ts'

export interface JoinOutlook {
  /** One for each join that can never go on by the new graph, though it still could by the one before. */
  readonly lost: readonly string[]
  /** The names of those that go on by the new graph, because what they waited for is gone. */
  readonly early: readonly string[]
}

const consequences: Readonly<Record<WaitingAction, string>> = {
  cancel: 'it is canceled',
  rollback: 'it is rolled back',
  dlq: 'it goes to the dead letter queue',
  pause: 'it pauses when nothing else goes on',
}

/** The draft is as the workflow stands now. */
export function joinOutlook(draft: ChangeDraft, plan: Plan): JoinOutlook {
  const joins = new SelectiveJoins(draft, plan)
  const open = selectiveJoins(plan.graph).filter(stretch => !joins.isDecided(stretch))
  const fated = (fate: JoinFate) => open.filter(stretch => joins.fateOf(stretch) === fate)
  const lost = fated('lost').filter(stretch => !wasLost(draft, plan, stretch))
  return {
    lost: lost.map(stretch => lostSentence(draft, plan, stretch)),
    early: fated('fires').map(({ join }) => join.name),
  }
}

/** Then somebody knows of it already. */
function wasLost(draft: ChangeDraft, plan: Plan, { join }: JoinStretch): boolean {
  const { previous } = plan
  const before = previous && selectiveJoins(previous).find(other => currentName(plan, other.join.id) === join.id)
  if (!before) return false
  return new SelectiveJoins(draft, { ...plan, graph: previous, renamed: previous.renamed }).fateOf(before) === 'lost'
}

function lostSentence(draft: ChangeDraft, plan: Plan, { join, losers }: JoinStretch): string {
  const names = failedNodes(draft, plan).map(({ node }) => currentName(plan, node))
  const failed = names.filter(name => losers.has(ownerOf(name) ?? name))
  const have = failed.length === 1 ? 'has' : 'have'
  // What a person has to settle first holds it back.
  const isAsked = plan.graph.data.onMissingStep !== 'skip' && lostNodesOf(draft, plan).length > 0
  const then = `${consequences[overdueAction(draft, plan)]}${isAsked ? ', once somebody has settled that' : ''}`
  return `Join ${join.name} can never go on by this graph, because ${failed.join(', ')} ${have} failed: ${then}.`
}
