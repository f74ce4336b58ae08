/**
 * What comes next: the nodes that fall due when one is satisfied, and the next attempt at a node. Conditions are never
 * looked at here: they are evaluated when the step is about to run.
 */
import type { Graph, GraphNode } from '../definition/graph.ts'
import { type JoinStretch, selectiveJoins } from '../definition/join-stretch.ts'
import type { Due, LatestEnding, NewExecution } from '../store/change.ts'
import { type ActiveExecution, noProgress, type Progress } from '../store/records.ts'
import { ancestryOf } from './ancestry.ts'
import type { ChangeDraft } from './change-draft.ts'
import { hasFailedIn, isSelective, SelectiveJoins, stretchTo, supersede } from './joins.ts'
import { laneIn } from './lane-for.ts'
import { latestUnder, namesOf, ordinalBehind, parentsOf } from './parents.ts'
import { isCutOff, isGuardOpen, isPassive, leaveOut, passNode, resultOf } from './pass-node.ts'
import { currentName, endNode, nameBeside, type Plan, queueOf, type RunOn, slotOf } from './plan.ts'
import { cameIn, firstNameIn, hasFinishedChild, keepName } from './stored-input.ts'
import { finishWorkflow } from './wind-down.ts'

/** What is carried over from the attempt before. */
export type Predecessor = Pick<LatestEnding, 'node' | 'attempt' | 'ordinal' | 'progress' | 'input'> & {
  readonly fence?: number
}

/** A node that is satisfied. The fence goes on rising where a row moves on in place. */
export interface Arrived {
  readonly node: string
  readonly fence?: number
}

/**
 * The node is satisfied: counts down what depends on it, and inserts what falls due by that, past nodes that do nothing
 * themselves and ways that are not taken. The first that the worker serves begins at once.
 */
export function arrive(draft: ChangeDraft, plan: Plan, before: Arrived, runOn: RunOn | null): NewExecution[] {
  const { graph } = plan
  const rows: NewExecution[] = []
  const ended = [currentName(plan, before.node)]
  const options = { fence: (before.fence ?? 0) + 1, runOn }
  let isOver = false
  // Grows while it is walked: what is passed or left out has ended as well.
  for (const id of ended) {
    const children = graph.childrenOf(id)
    for (const child of children) {
      const fate = fateOf(draft, plan, child, id)
      if (fate === 'waits') continue
      if (fate === 'due') rows.push(insertFirst(draft, plan, child, options))
      else ended.push(child.id)
      if (fate === 'passed') passNode(draft, plan, child)
      if (fate === 'passed') decideJoin(draft, plan, child)
      else if (fate === 'left out') leaveOut(draft, plan, child, 'it lies on a way that was not taken')
    }
    if (graph.isLeaf(id) && countDown(draft, endNode, graph.leaves.length)) isOver = true
  }
  if (isOver) endWorkflow(draft, plan)
  return isSelective(graph) ? [...rows, ...passReadyJoins(draft, plan, runOn)] : rows
}

/**
 * Joins that can go on though none of their parents says so: a node has failed and ended its branch, or what was still
 * open in such a branch has ended.
 */
export function passReadyJoins(draft: ChangeDraft, plan: Plan, runOn: RunOn | null): NewExecution[] {
  const joins = new SelectiveJoins(draft, plan)
  const isReady = (stretch: JoinStretch) => !joins.isDecided(stretch) && joins.fateOf(stretch) === 'fires'
  const ready = selectiveJoins(plan.graph).find(isReady)
  if (ready === undefined) return []
  passNode(draft, plan, ready.join)
  decideJoin(draft, plan, ready.join)
  return arrive(draft, plan, { node: ready.join.id }, runOn)
}

/** It was passed: nobody waits any more for what is left of its branches. Any other node is left alone. */
export function decideJoin(draft: ChangeDraft, plan: Plan, join: GraphNode): void {
  const stretch = stretchTo(plan, join.id)
  if (stretch === null) return
  if (join.join?.rule === 'settled' && hasFailedIn(draft, plan, stretch)) draft.setWorkflow({ partial: true })
  supersede(draft, plan, stretch)
}

/** A parent of the node has ended. A node that a condition keeps from running waits for nothing else. */
function fateOf(draft: ChangeDraft, plan: Plan, node: GraphNode, parent: string) {
  const { guard } = node
  // A join that was decided has left it out, perhaps a moment ago.
  if (isSelective(plan.graph) && latestUnder(draft, plan, node.id) !== null) return 'waits'
  if (guard?.condition === parent && !isGuardOpen(node, resultOf(latestUnder(draft, plan, parent)))) return 'left out'
  const stretch = stretchTo(plan, node.id)
  if (stretch !== null) return fateOfSelective(new SelectiveJoins(draft, plan), stretch)
  if (!countDown(draft, node.id, node.dependsOn.length)) return 'waits'
  if (isCutOff(draft, plan, node)) return 'left out'
  return isPassive(node) ? 'passed' : 'due'
}

/** It is decided once. */
function fateOfSelective(joins: SelectiveJoins, stretch: JoinStretch): 'passed' | 'left out' | 'waits' {
  if (joins.isDecided(stretch)) return 'waits'
  const fate = joins.fateOf(stretch)
  return fate === 'fires' ? 'passed' : fate === 'left_out' ? 'left out' : 'waits'
}

/** True when this was the last parent. A node with one parent needs no counter. */
function countDown(draft: ChangeDraft, node: string, parents: number): boolean {
  if (parents <= 1) return true
  const open = (draft.openParents(node) ?? parents) - 1
  draft.setOpenParents(node, open)
  return open === 0
}

/** Every node has ended. A paused workflow stays paused at its end; what a join did without may still run. */
export function endWorkflow(draft: ChangeDraft, plan: Plan): void {
  if (draft.state !== 'ready') return
  if (isSelective(plan.graph) && draft.rows().length > 0) finishWorkflow(draft, plan)
  else draft.moveWorkflow('finished')
}

export interface FirstOptions {
  readonly fence?: number
  readonly runOn?: RunOn | null
  readonly input?: string
  readonly state?: 'waiting'
  readonly generation?: number
}

/** The first attempt at a node whose parents are all satisfied. */
export function insertFirst(draft: ChangeDraft, plan: Plan, node: GraphNode, options: FirstOptions = {}): NewExecution {
  return insertForward(draft, plan, {
    node,
    attempt: earlierAttempts(draft, plan, node) + 1,
    fence: options.fence ?? 1,
    due: { inMs: node.waitMs },
    failures: 0,
    crashes: 0,
    progress: noProgress,
    input: options.input ?? null,
    runOn: options.runOn ?? null,
    ...(options.state === undefined ? {} : { state: options.state }),
    ...(options.generation === undefined ? {} : { generation: options.generation }),
  })
}

/** Attempts go on counting under a new name. */
function earlierAttempts(draft: ChangeDraft, plan: Plan, { id }: GraphNode): number {
  if (draft.workflow.rounds === null) return 0
  return Math.max(...namesOf(plan, id).map(name => draft.attemptsBefore(name)))
}

export interface Again {
  readonly due: Due
  readonly failures: number
  readonly crashes: number
  /** A resumable step begins from the start; otherwise it goes on where it was. */
  readonly rewind?: boolean
  readonly keepsInput?: boolean
  /** What the attempt works on instead. */
  readonly input?: string
  readonly runOn?: RunOn | null
  /** It has to wait for its place among items. */
  readonly state?: 'waiting'
}

/** The next attempt at the same node. */
export function repeat(draft: ChangeDraft, plan: Plan, before: Predecessor, again: Again): NewExecution {
  const name = currentName(plan, before.node)
  const known = plan.graph.find(name)
  return insertForward(draft, plan, {
    node: known ?? lostNode(plan.graph, name),
    // Whoever has code for it may run it; the newest code, which has lost it, says so.
    ...(known === null ? { generation: 0 } : {}),
    attempt: before.attempt + 1,
    after: before.ordinal,
    fence: (before.fence ?? 0) + 1,
    due: again.due,
    failures: again.failures,
    crashes: again.crashes,
    progress: again.rewind ? noProgress : before.progress,
    input: keepName(
      again.input ?? keptInput(known, before, again),
      firstNameIn(before.input) ?? (before.node === name ? null : before.node),
    ),
    runOn: again.runOn ?? null,
    ...(again.state === undefined ? {} : { state: again.state }),
  })
}

/** Nobody reports any more on what was under way: the attempt is over, and the next one goes on in its place in line. */
export function recover(
  draft: ChangeDraft,
  plan: Plan,
  row: ActiveExecution,
  { reason, crashes }: { readonly reason: string; readonly crashes: number },
): void {
  draft.end(row, 'failed', 'recovered', { reason })
  const { dueAt, failures, input } = row
  repeat(draft, plan, row, { due: { at: dueAt }, failures, crashes, ...(input === null ? {} : { input }) })
}

/**
 * An item stays what it is, and so does what was given when a letter was requeued, what came while a node waited, and a child
 * that has finished. Any other child is started anew, and what nothing came for waits anew, unless only the worker was lost.
 */
function keptInput(node: GraphNode | null, { input }: Predecessor, { keepsInput, crashes }: Again): string | null {
  const isLost = crashes > 0
  const waits = node?.kind === 'human' || node?.kind === 'signal'
  if (waits && !isLost && cameIn(input)?.came === 'nothing') return null
  if (node?.kind === 'child' && hasFinishedChild(input)) return input
  return (node !== null && node.kind !== 'child') || keepsInput ? input : null
}

/** A node that the code no longer has keeps its place; the worker that claims it says what is wrong. */
export function lostNode({ data }: Graph, name: string): GraphNode {
  const { queue, priority } = data
  return { id: name, name, kind: 'step', waitMs: 0, queue, priority, dependsOn: [] }
}

interface Forward {
  readonly node: GraphNode
  readonly attempt: number
  /** The place in history of the attempt before. */
  readonly after?: number
  readonly fence: number
  readonly due: Due
  readonly failures: number
  readonly crashes: number
  readonly progress: Progress
  readonly input: string | null
  readonly runOn: RunOn | null
  readonly generation?: number
  /** Where it begins, if not as soon as it may. */
  readonly state?: 'waiting'
}

function insertForward(draft: ChangeDraft, plan: Plan, forward: Forward): NewExecution {
  const { node, due, runOn, after, failures, crashes, progress } = forward
  const parents = parentsOf(draft, plan, node)
  const held = draft.isHeld
  const dueNow = 'inMs' in due && due.inMs === 0
  const mayRunOn = !held && dueNow && crashes === 0 && forward.state === undefined
  const handler = plan.handlerOf(node)
  const queue = queueOf(plan.graph, node)
  const owner = mayRunOn && runOn?.serves(queue, handler) ? runOn.workerId : null
  // Named one by one: a wide fan-out comes through here for each of its nodes, and a spread is ten times slower.
  return draft.insert({
    slot: freeSlot(draft, plan, node),
    id: plan.takeId(),
    node: node.id,
    nodeName: nameBeside(node),
    kind: 'forward',
    attempt: forward.attempt,
    ordinal: ordinalBehind(draft, plan, node, after === undefined ? parents : [...parents, { ordinal: after }]),
    state: forward.state ?? (held ? 'paused' : owner === null ? 'scheduled' : 'in_progress'),
    queue,
    handler,
    lane: laneIn(draft.facts.workflow, node, queue),
    generation: forward.generation ?? plan.generation,
    priority: node.priority,
    due,
    owner,
    fence: forward.fence,
    failures,
    crashes,
    // Each claim counts as a run, and so does going on at once.
    progress: owner === null ? progress : { ...progress, runs: progress.runs + 1 },
    input: forward.input,
    ancestry: ancestryOf(node.id, forward.attempt, parents),
  })
}

/** A graph that has become a chain may have several rows still, which must not push each other out. */
function freeSlot(draft: ChangeDraft, { graph }: Plan, { id }: GraphNode): string {
  const slot = slotOf(graph, id)
  return !graph.isChain || draft.rowIn(slot) === null ? slot : id
}
