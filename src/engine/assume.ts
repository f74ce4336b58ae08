/**
 * Reports that need no look before they are decided on: steps have simply completed, and their worker knows the workflow and
 * the rows since it claimed them. Whatever else is the case has changed the workflow's version or a row. In a graph what other
 * branches have counted down is not known, so the reports must be about all parents of whatever comes after them.
 */
import type { Graph } from '../definition/graph.ts'
import type { AssumedFacts } from '../store/change.ts'
import type { ClaimedExecution, WorkflowRecord } from '../store/records.ts'
import type { Course } from './courses.ts'
import type { FinishRequest } from './finish-request.ts'
import { isSelective } from './joins.ts'
import { isPassive } from './pass-node.ts'
import { currentName, endNode } from './plan.ts'

/** The facts of reports on one workflow, if they can be taken as known. */
export function assumedFacts(course: Course, requests: readonly FinishRequest[]): AssumedFacts | null {
  const [first, ...others] = requests
  if (first === undefined || !mayBeKnown(course, first.claimed.workflow)) return null
  if (course.graph.isChain) return others.length === 0 && isSimple(course, first) ? factsOfClaim(first.claimed) : null
  const { version } = first.claimed.workflow
  const isLike = (request: FinishRequest) => isSimple(course, request) && request.claimed.workflow.version === version
  if (!requests.every(isLike)) return null
  const uncounted = countersOf(
    course.graph,
    requests.map(({ claimed }) => currentName(course.graph, claimed.execution.node)),
  )
  if (uncounted === null) return null
  const active = requests.map(({ claimed }) => claimed.execution)
  // Other branches may go on beside these.
  return { ...factsOfClaim(first.claimed), active, complete: false, othersGoOn: null, uncounted }
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
 * Counters that the ends of these nodes count down from the beginning to zero, so that none of them can be there; `null` where
 * a node behind them also waits for others, or for a condition.
 */
function countersOf(graph: Graph, nodes: readonly string[]): readonly string[] | null {
  const open = new Map<string, number>()
  const countDown = (id: string, parents: number) => {
    const left = (open.get(id) ?? parents) - 1
    open.set(id, left)
    return left === 0
  }
  const ended = [...nodes]
  // Grows while it is walked: what does nothing itself has ended as well.
  for (const id of ended) {
    if (graph.isLeaf(id) && graph.leaves.length > 1) countDown(endNode, graph.leaves.length)
    for (const child of graph.childrenOf(id)) {
      if (child.guard !== undefined) return null
      const isDue = child.dependsOn.length <= 1 || countDown(child.id, child.dependsOn.length)
      if (isDue && isPassive(child)) ended.push(child.id)
    }
  }
  for (const left of open.values()) if (left !== 0) return null
  return [...open.keys()]
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
    endedBy: none.map,
    uncounted: none.list,
  }
}
