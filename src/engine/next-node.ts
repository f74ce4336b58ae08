/**
 * Which node comes next in a workflow. What has failed keeps others waiting until somebody does something about it, so it
 * comes first; otherwise it is the first node that nothing has been planned for yet. Looks only.
 */
import { type GraphNode, isSelectiveJoin } from '../definition/graph.ts'
import { ChangeDraft } from './change-draft.ts'
import { planOf } from './courses.ts'
import { emptyFacts } from './empty-facts.ts'
import { isEnd } from './end-watch.ts'
import type { Engine } from './engine.ts'
import { failedNodes } from './failed-nodes.ts'
import { isSatisfied } from './is-satisfied.ts'
import { latestUnder } from './parents.ts'
import { currentName, type Plan } from './plan.ts'

/**
 * By its name, an item of an `each` node by its id:
 *
 * 1. the first node in the order of the graph whose latest attempt has failed, or was given up by `this.pause()`, and that a resume
 *    would run again. Not one that a join can do without;
 * 2. else the first node in that order that has no attempt in this round and may still get one. Behind the nodes that are scheduled,
 *    running, held or waiting that is what comes after them. Never a node of a branch that was not taken, or behind one that has
 *    failed and that a join does without, or one that a deploy has added behind the point that the workflow had reached;
 * 3. `null` when there is neither, and in a workflow that has ended or winds down.
 *
 * In the order of the graph parents come before children. The facts must be complete.
 */
export function nextNode(draft: ChangeDraft, plan: Plan): string | null {
  const { state, finishing, pauseCause } = draft.workflow
  if (isEnd(state) || state === 'rolling_back' || finishing || pauseCause === 'finishing') return null
  const order = plan.graph.inOrder()
  const failed = firstFailed(draft, plan, order)
  if (failed !== null) return plan.graph.find(failed)?.name ?? failed
  return firstPending(draft, plan, order)?.name ?? null
}

/** The same from what the store has, read without a lock. */
export async function readNextNode(engine: Engine, id: string): Promise<string | null> {
  const { store, courses } = engine
  const workflow = await engine.find(id)
  const course = await courses.one(workflow)
  // Active rows first: one that ends meanwhile is then found among the ended.
  const active = await store.activeExecutions(id)
  const ended = (await store.history(id)).filter(({ kind }) => kind === 'forward')
  const known = new Set(ended.map(row => row.id))
  const latest = new Map(
    ended.toSorted((a, b) => a.attempt - b.attempt).map(row => [row.node, { ...row, input: null }]),
  )
  const open = active.filter(row => !known.has(row.id))
  const draft = new ChangeDraft({ ...emptyFacts(workflow), active: open, latest })
  return nextNode(draft, planOf(course, { take: () => '0' }))
}

/** Items stand where their node does, in the order of their numbers; what the code has lost stands last. */
function firstFailed(draft: ChangeDraft, plan: Plan, order: readonly GraphNode[]): string | null {
  const { graph } = plan
  const places = new Map(order.map(({ id }, index) => [id, index]))
  const placeOf = (name: string) => places.get(graph.eachOf(name)?.id ?? name) ?? order.length
  const numberOf = (name: string) => Number(name.slice(name.lastIndexOf('/') + 1))
  const names = failedNodes(draft, plan).map(({ node }) => currentName(plan, node))
  const [first] = names.toSorted((a, b) => placeOf(a) - placeOf(b) || numberOf(a) - numberOf(b))
  return first ?? null
}

/** For a workflow in which nothing has failed that a resume would run again. */
function firstPending(draft: ChangeDraft, plan: Plan, order: readonly GraphNode[]): GraphNode | null {
  const rows = new Map(draft.rows().map(row => [currentName(plan, row.node), row]))
  const latestOf = ({ id }: GraphNode) => latestUnder(draft, plan, id)
  const hasBegun = (node: GraphNode) => {
    const latest = latestOf(node)
    if (latest !== null) return latest.outcome !== 'not_taken'
    return (rows.get(node.id)?.startedAt ?? null) !== null
  }
  const passed = nodesBefore(plan, order, hasBegun)
  const dead = new Set<string>()
  for (const node of order) {
    if (rows.has(node.id)) continue
    const latest = latestOf(node)
    if (latest !== null) {
      if (!isSatisfied(latest) && latest.outcome !== 'not_taken') dead.add(node.id)
    } else if (!isSelectiveJoin(node) && node.dependsOn.some(id => dead.has(id))) dead.add(node.id)
    else if (!passed.has(node.id)) return node
  }
  return null
}

/** What something comes after that has begun. */
function nodesBefore(
  { graph }: Plan,
  order: readonly GraphNode[],
  hasBegun: (node: GraphNode) => boolean,
): ReadonlySet<string> {
  const before = new Set<string>()
  for (const node of order.toReversed()) {
    if (graph.childrenOf(node.id).some(child => before.has(child.id) || hasBegun(child))) before.add(node.id)
  }
  return before
}
