/**
 * What must be looked at before a report is decided on: of a chain its one row, of a graph only the rows and counters that
 * the report touches, however large it is. Where a whole workflow is concerned, all of its rows.
 */
import type { Graph, GraphNode } from '../definition/graph.ts'
import type { WorkflowFacts } from '../store/change.ts'
import type { WorkflowRecord } from '../store/records.ts'
import { attemptsBefore } from '../store/rounds.ts'
import type { ChangeTarget, CloserLook, StartOrder } from '../store/store.ts'
import { askedIn } from './close-wait.ts'
import type { Course } from './courses.ts'
import type { FinishRequest } from './finish-request.ts'
import { isSelective } from './joins.ts'
import { namesOf } from './parents.ts'
import { isPassive } from './pass-node.ts'
import { currentName, deadlineSlot, endNode, hasCode, itemSlots, keptAttempts, slotOf } from './plan.ts'
import { reachOf } from './reach.ts'
import type { StepReport } from './step-report.ts'
import { undoLook } from './undo-stretch.ts'
import { waitingPolicyOf } from './waiting-policy.ts'
import { childrenIn, stopTimerSlot } from './wind-down.ts'

export function targetFor(course: Course, requests: readonly FinishRequest[]): ChangeTarget {
  const { graph, workflow } = course
  const workflowId = workflow.id
  const undoes = requests.every(({ claimed }) => claimed.execution.kind === 'compensate')
  // Those of its steps were closed when its rollback began, and the others concern nobody.
  const own = { settle: requests.map(request => request.claimed.execution.id), ...(undoes ? { letters: [] } : {}) }
  const repeated = requests.some(request => request.repeated)
  const heals = needsHealing(course, requests)
  // What undoes a step starts nothing, whatever the joins are like.
  const selects = isSelective(graph) && !undoes
  if (heals || selects) return { workflowId, ...own, repeated, withLatest: true, lockRows: true }
  const stops = requests.some(({ report }) => concernsAll(report))
  const nodes = requests.map(({ claimed }) => currentName(graph, claimed.execution.node))
  const fanIns = [...new Set(nodes.flatMap(node => countersBehind(course, node)))]
  // A transaction of the step may still be about to move its cursor.
  const awaits = requests.some(({ progress }) => progress === 'as written')
  // A report that ends or holds other rows must keep them from being claimed meanwhile.
  if (graph.isChain || stops || repeated || awaits)
    return { workflowId, ...own, repeated, fanIns, lockRows: awaits || (stops && !graph.isChain) }
  const each = nodes.flatMap(node => graph.eachOf(node) ?? [])
  return {
    workflowId,
    ...own,
    slots: [
      ...new Set([
        ...requests.map(request => request.claimed.execution.slot),
        ...each.map(node => slotOf(graph, node.id)),
        stopTimerSlot,
        ...(workflow.deadlineAt === null ? [] : [deadlineSlot]),
      ]),
    ],
    // What a resumable step has written meanwhile stands in its row.
    held: requests.filter(({ progress }) => progress === null).map(({ claimed }) => claimed.execution),
    fanIns,
  }
}

/** How many rows follow the reports at most, unless the workflow is rolled back meanwhile. A node follows once, however many of its parents have ended. */
export function usualFollowers(graph: Graph, reports: readonly Pick<FinishRequest, 'claimed' | 'report'>[]): number {
  let others = 0
  const ended = new Set<string>()
  for (const { claimed, report } of reports) {
    const node = currentName(graph, claimed.execution.node)
    ended.add(graph.eachOf(node)?.id ?? node)
    // It may come again, or be undone.
    if (report.kind !== 'completed' || claimed.execution.kind !== 'forward') others++
    if (report.kind === 'items') others += report.items.length
    if (report.kind === 'restart') others += 2 + graph.entries.length
  }
  return others + mostChildren(graph, ended)
}

function mostChildren(graph: Graph, ended: ReadonlySet<string>): number {
  // What a plain step of a chain leads to is told at a glance.
  const [node = ''] = ended
  const [next] = graph.isChain && ended.size === 1 ? graph.childrenOf(node) : []
  return next !== undefined && !isPassive(next) ? 1 : reachOf(graph, ended).nodes.length
}

/** Counters that an end of the node may count down. The last item also ends the node that it belongs to. */
function countersBehind({ graph }: Course, node: string): string[] {
  const each = graph.eachOf(node)
  if (each) return [each.id, ...countersBehind({ graph } as Course, each.id)]
  const { nodes, atEnd } = reachOf(graph, [node])
  const counted = nodes.filter(child => child.dependsOn.length > 1).map(child => child.id)
  return atEnd && graph.leaves.length > 1 ? [...counted, endNode] : counted
}

/** Rows of a node that the graph does not have, or of a graph that has changed, are decided on with everything in sight. */
export function needsHealing({ graph, heals }: Course, requests: readonly FinishRequest[]): boolean {
  return heals || requests.some(({ claimed }) => graph.find(currentName(graph, claimed.execution.node)) === null)
}

/** Policies that act on the workflow as a whole. */
const stopping: ReadonlySet<string> = new Set(['cancel', 'rollback', 'dlq'])

function concernsAll(report: StepReport): boolean {
  if (report.kind === 'threw')
    return report.retryMs === null && (stopping.has(report.policy.action) || stopping.has(report.policy.then))
  return ['finish', 'restart', 'cancel', 'pause'].includes(report.kind)
}

/** The parents of what is about to begin, and the items that get a place which falls free. */
export function closerLook(
  course: Course,
  facts: WorkflowFacts,
  requests: readonly FinishRequest[],
): CloserLook | null {
  const { graph } = course
  const ending = new Set<string>()
  const again: GraphNode[] = []
  for (const { claimed, report } of requests) {
    const node = graph.find(currentName(graph, claimed.execution.node))
    if (node === null || claimed.execution.kind !== 'forward') continue
    // A signal that came early ends a node without code at once.
    if (isSatisfying(report) || (report.kind === 'wait' && !hasCode(graph, node))) ending.add(node.id)
    else if (mayRepeat(report) && node.kind !== 'item') again.push(node)
  }
  const begun = graph.isChain || facts.latest !== null ? [] : nodesThatMayBegin(course, facts, ending)
  const needed = new Set([...begun, ...again].flatMap(node => node.dependsOn).filter(id => !ending.has(id)))
  const parents = [...needed].flatMap(id => namesOf(graph, id))
  const waiting = placesThatFallFree(course, requests)
  const starts = childrenToStart(facts, requests)
  const watched = requests.flatMap(({ report }) => (report.kind === 'watch' ? report.workflowId : []))
  // A join that is decided goes on without what waits for a child.
  const states = isSelective(graph) ? [...watched, ...childrenIn(facts.active)] : watched
  const others = !facts.complete && mayComeToRest(facts, requests)
  const outworn = outwornBy(requests)
  const signaled = requests.flatMap(({ claimed, report }) =>
    report.kind === 'wait' ? namesOf(graph, currentName(graph, claimed.execution.node)) : [],
  )
  const decided = needsHealing(course, requests) ? askedIn(graph, facts) : []
  const undo = isUndoing(course, facts, requests) && undoLook(course, facts, requests)
  const nothing =
    !others && !undo && [parents, waiting, starts, states, outworn, signaled, decided].every(list => list.length === 0)
  return nothing ? null : { parents, waiting, starts, states, others, outworn, undo, signaled, decided }
}

/** What a saga has done must be known as soon as it may have to be undone, and while it is. */
function isUndoing(course: Course, { workflow, latest }: WorkflowFacts, requests: readonly FinishRequest[]): boolean {
  if (!mayBeUndone(course, workflow)) return false
  // A join may also have stopped being selective with the deploy, or have gone with it.
  const mayAct = isSelective(course.graph) || needsHealing(course, requests)
  if (workflow.state === 'rolling_back' || (mayAct && somethingWaits(latest))) return true
  return requests.some(
    ({ claimed, report }) =>
      claimed.execution.kind === 'compensate' || concernsAll(report) || mayLoseJoin(course, report),
  )
}

/** What a policy of an earlier failure has waited with acts as soon as its join is lost, whatever is reported. */
function somethingWaits(latest: WorkflowFacts['latest']): boolean {
  return [...(latest?.values() ?? [])].some(ending => waitingPolicyOf(ending) !== null)
}

/** A branch that is skipped, or that a condition leaves out, may be the one that a join needed. */
function mayLoseJoin({ graph }: Course, report: StepReport): boolean {
  return isSelective(graph) && (report.kind !== 'completed' || report.result !== undefined)
}

/** The graph has compensations, or had some; or the workflow is being undone, whatever the newest code says about it. */
export function mayBeUndone(
  { graph, former }: Pick<Course, 'graph' | 'former'>,
  { rollback }: Pick<WorkflowRecord, 'rollback'>,
): boolean {
  return graph.isSaga || former.length > 0 || rollback !== null
}

/**
 * A step that repeats itself, to poll for something, would fill history for ever: its last attempts are kept, and what earlier
 * rounds have done.
 */
function outwornBy(requests: readonly FinishRequest[]): CloserLook['outworn'] {
  return requests.flatMap(({ report, claimed: { execution, workflow } }) => {
    const after = attemptsBefore(workflow.rounds, execution.node)
    const upTo = execution.attempt - keptAttempts
    return report.kind === 'reattempt' && upTo > after ? { node: execution.node, after, upTo } : []
  })
}

/** Only then does it matter whether anything else goes on. To look for it is not free, and most reports need not. */
function mayComeToRest({ workflow }: WorkflowFacts, requests: readonly FinishRequest[]): boolean {
  const { state, blockedBy, finishing } = workflow
  if (state === 'rolling_back' || finishing || blockedBy !== null) return true
  return requests.some(({ report }) => {
    if (report.kind === 'threw') return report.retryMs === null
    // What is called once and is given back in mid-call has failed for all that anybody knows.
    return report.kind === 'child' || report.kind === 'released'
  })
}

/** Only where the claim holds and nobody has stopped the workflow: the lock on it keeps both so. */
function childrenToStart({ workflow, active }: WorkflowFacts, requests: readonly FinishRequest[]): StartOrder[] {
  // Declared finished while somebody keeps it paused: nothing new begins in it.
  if (workflow.finishing || workflow.pauseCause === 'finishing') return []
  if (!['ready', 'paused', 'dlq'].includes(workflow.state)) return []
  return requests.flatMap(({ report, claimed: { execution } }) => {
    if (report.kind !== 'child') return []
    const held = active.some(
      row => row.id === execution.id && row.fence === execution.fence && row.state === 'in_progress',
    )
    return held ? report.order : []
  })
}

/** Counted from the parents that end, never from all parents of a child: those may be as many as the graph has nodes. */
function nodesThatMayBegin({ graph }: Course, facts: WorkflowFacts, ending: ReadonlySet<string>): GraphNode[] {
  const isDue = (node: GraphNode, arrivals: number) => (facts.fanIns.get(node.id) ?? node.dependsOn.length) <= arrivals
  return [...reachOf(graph, satisfiedBy(graph, facts, ending), isDue).nodes]
}

/** The nodes that are satisfied when these end: the last item satisfies the node that it belongs to. */
function satisfiedBy(graph: Graph, facts: WorkflowFacts, ending: ReadonlySet<string>): string[] {
  const satisfied: string[] = []
  const items = new Map<string, number>()
  for (const id of ending) {
    const each = graph.eachOf(id)
    if (each === null) satisfied.push(id)
    else items.set(each.id, (items.get(each.id) ?? 0) + 1)
  }
  for (const [each, count] of items) if ((facts.fanIns.get(each) ?? 1) <= count) satisfied.push(each)
  return satisfied
}

function placesThatFallFree({ graph }: Course, requests: readonly FinishRequest[]): CloserLook['waiting'] {
  const counts = new Map<string, number>()
  for (const { claimed } of requests) {
    const each = graph.eachOf(currentName(graph, claimed.execution.node))
    if (each?.concurrency !== undefined) counts.set(each.id, (counts.get(each.id) ?? 0) + 1)
  }
  return [...counts].map(([id, count]) => ({ prefix: itemSlots(id), count }))
}

function isSatisfying(report: StepReport): boolean {
  if (report.kind === 'threw')
    return report.retryMs === null && (report.policy.action === 'skip' || report.policy.then === 'skip')
  return report.kind === 'completed' || report.kind === 'skip' || (report.kind === 'items' && report.items.length === 0)
}

function mayRepeat(report: StepReport): boolean {
  return (
    report.kind === 'reattempt' || report.kind === 'threw' || (report.kind === 'released' && report.called === true)
  )
}
