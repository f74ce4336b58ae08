/**
 * Reports that need no look before they are decided on: steps have simply completed, and their worker knows the workflow and
 * the rows since it claimed them. Whatever else is the case has changed the workflow's version or a row. In a graph what other
 * branches have counted down is not known, so the reports must be about all parents of whatever comes after them; or this process has lately
 * seen how many are open: more than these, so that nothing begins, or none but these, and it has recorded all the others itself.
 */
import type { Graph } from '../definition/graph.ts'
import type { AssumedFacts, WorkflowChange } from '../store/change.ts'
import type { ClaimedExecution, WorkflowRecord } from '../store/records.ts'
import { type Arrivals, noArrivals } from './arrivals.ts'
import type { Course } from './courses.ts'
import type { FinishRequest } from './finish-request.ts'
import { isSelective } from './joins.ts'
import { isPassive } from './pass-node.ts'
import { currentName, endNode } from './plan.ts'

/**
 * The facts of reports on one workflow, if they can be taken as known; `later`: they may be, once all that this process has under way is written.
 * They hold for the turn in which they were asked for: what has arrived meanwhile changes them.
 */
export function assumedFacts(
  course: Course,
  requests: readonly FinishRequest[],
  recent: Arrivals,
): AssumedFacts | 'later' | null {
  const [first, ...others] = requests
  if (first === undefined || !mayBeKnown(course, first.claimed.workflow)) return null
  if (course.graph.isChain) return others.length === 0 && isSimple(course, first) ? factsOfClaim(first.claimed) : null
  const { version } = first.claimed.workflow
  const isLike = (request: FinishRequest) => isSimple(course, request) && request.claimed.workflow.version === version
  if (!requests.every(isLike)) return null
  const arrivals = recent.version === version ? recent : noArrivals
  const counters = countersOf(
    course.graph,
    requests.map(({ claimed }) => currentName(course.graph, claimed.execution.node)),
    arrivals,
  )
  if (counters === null || counters === 'later') return counters
  return {
    ...factsOfClaim(first.claimed),
    active: requests.map(({ claimed }) => claimed.execution),
    // Other branches may go on beside these.
    complete: false,
    othersGoOn: null,
    fanIns: new Map(counters.counted.map(({ node }) => [node, arrivals.open.get(node) ?? 0])),
    parents: arrivals.ended,
    ...counters,
  }
}

/** The change is what the guards are about, and what begins by it comes after all that it depends on. Else somebody has to look. */
export function isAsAssumed(
  { graph }: Course,
  { uncounted, counted, active }: AssumedFacts,
  change: WorkflowChange,
): boolean {
  if (graph.isChain) return true
  const { inserted, updated, removed, cleared } = change.fanIns
  const down = new Map(counted.map(each => [each.node, each]))
  const some = updated.filter(({ node, by }) => down.get(node)?.leaves === 'some' && down.get(node)?.by === by)
  const gone = removed.filter(({ node }) => down.get(node)?.leaves === 'none')
  const isCounted = cleared
    ? counted.every(({ leaves }) => leaves === 'none')
    : some.length === updated.length && some.length + gone.length === counted.length
  const untouched = new Set(uncounted)
  if (!isCounted || gone.length !== removed.length || inserted.some(({ node }) => !untouched.has(node))) return false
  const reported = new Set(active.map(({ id }) => id))
  const passed = change.endings.map(({ execution }) => execution).filter(({ id }) => !reported.has(id))
  const begun = [...change.insertions, ...change.replacements, ...passed].filter(({ kind }) => kind === 'forward')
  return begun.every(({ node, ancestry }) => graph.find(node)?.dependsOn.length === ancestry.parents.length)
}

/** Nothing is asked of it. A graph that was gone back in may have counters from before. */
function mayBeKnown({ graph, heals, isOwn }: Course, workflow: WorkflowRecord): boolean {
  if (heals || !isOwn || !goesItsWay(workflow)) return false
  return graph.isChain || (workflow.rounds === null && !isSelective(graph))
}

function isSimple({ graph }: Course, { claimed, report, progress, repeated }: FinishRequest): boolean {
  const { execution } = claimed
  if (repeated || progress !== null || report.kind !== 'completed' || execution.kind !== 'forward') return false
  return graph.find(currentName(graph, execution.node))?.kind === 'step'
}

function goesItsWay(workflow: WorkflowRecord): boolean {
  const { state, finishing, blockedBy, rollback, openLetters, continuation } = workflow
  return (
    state === 'ready' &&
    !finishing &&
    blockedBy === null &&
    rollback === null &&
    continuation === null &&
    openLetters === 0
  )
}

/**
 * Counters that the ends of these nodes count down, from the beginning, so that none of them can be there, or from where they were
 * seen. `null` where it is not known what begins by that, and where a condition decides; `later` where it is not known what it comes after.
 */
function countersOf(
  graph: Graph,
  nodes: readonly string[],
  arrivals: Arrivals,
): Pick<AssumedFacts, 'uncounted' | 'counted'> | 'later' | null {
  const open = new Map<string, number>()
  const countDown = (id: string, parents: number) => {
    const left = (open.get(id) ?? arrivals.open.get(id) ?? parents) - 1
    open.set(id, left)
    return left === 0
  }
  const ended = new Set(nodes)
  // Grows while it is walked: what does nothing itself has ended as well.
  for (const id of ended) {
    if (graph.isLeaf(id) && graph.leaves.length > 1) countDown(endNode, graph.leaves.length)
    for (const child of graph.childrenOf(id)) {
      if (child.guard !== undefined) return null
      const isDue = child.dependsOn.length <= 1 || countDown(child.id, child.dependsOn.length)
      if (isDue && isPassive(child)) ended.add(child.id)
    }
  }
  const isKnown = (id: string) => ended.has(id) || arrivals.ended.has(id)
  let isLate = false
  const uncounted: string[] = []
  const counted: AssumedFacts['counted'][number][] = []
  for (const [node, left] of open) {
    const before = arrivals.open.get(node)
    const leaves = left > 0 ? 'some' : 'none'
    if (left < 0 || (before === undefined && left > 0 && !arrivals.fresh.has(node))) return null
    if (before === undefined) uncounted.push(node)
    else if (left === 0 && graph.find(node)?.dependsOn.every(isKnown) === false) isLate = true
    else counted.push({ node, by: before - left, leaves })
  }
  return isLate ? 'later' : { uncounted, counted }
}

const none = { map: new Map<string, never>(), list: [] as never[] }

/** What a worker knows of what it has claimed, without a look. */
export function factsOfClaim({ workflow, execution }: ClaimedExecution): AssumedFacts {
  return {
    workflow,
    active: [execution],
    complete: true,
    othersGoOn: false,
    latest: null,
    outworn: none.list,
    parents: none.map,
    undo: null,
    decisions: none.list,
    signals: none.list,
    letters: none.list,
    started: none.map,
    others: none.map,
    fanIns: none.map,
    ended: none.map,
    uncounted: none.list,
    counted: none.list,
  }
}
