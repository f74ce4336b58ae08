/**
 * What comes next: the nodes that fall due when one is satisfied, and the next attempt at a node. Conditions are never
 * looked at here: they are evaluated when the step is about to run.
 */
import type { Graph, GraphNode } from '../definition/graph.ts'
import type { Due, LatestEnding, NewExecution } from '../store/change.ts'
import { noProgress, type Progress } from '../store/records.ts'
import { ancestryOf } from './ancestry.ts'
import type { ChangeDraft } from './change-draft.ts'
import { chainSlot, currentName, endNode, ownerOf, type Plan, type RunOn, slotOf } from './plan.ts'

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
 * The node is satisfied: counts down what depends on it, and inserts what falls due by that. The first of those that the
 * worker serves begins at once.
 */
export function arrive(draft: ChangeDraft, plan: Plan, before: Arrived, runOn: RunOn | null): NewExecution[] {
  const { graph } = plan
  const node = currentName(plan, before.node)
  const children = graph.childrenOf(node)
  const due = children.filter(child => countDown(draft, child.id, child.dependsOn.length))
  const fence = (before.fence ?? 0) + 1
  const rows = due.map(child => insertFirst(draft, plan, child, { fence, runOn }))
  if (children.length === 0 && countDown(draft, endNode, graph.leaves.length)) endWorkflow(draft)
  return rows
}

/** True when this was the last parent. A node with one parent needs no counter. */
function countDown(draft: ChangeDraft, node: string, parents: number): boolean {
  if (parents <= 1) return true
  const open = (draft.openParents(node) ?? parents) - 1
  draft.setOpenParents(node, open)
  return open === 0
}

/** Every node has ended. A paused workflow stays paused at its end. */
export function endWorkflow(draft: ChangeDraft): void {
  if (draft.state === 'ready') draft.moveWorkflow('finished')
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
    attempt: 1,
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

/** What an execution comes after: the latest attempts of the parents that were taken. */
export function parentsOf(
  draft: ChangeDraft,
  plan: Plan,
  node: GraphNode,
): Pick<LatestEnding, 'id' | 'ordinal' | 'ancestry'>[] {
  // An item begins while the node that it belongs to waits, which may have been a step of a chain until now.
  if (node.kind === 'item') {
    return [draft.rowIn(slotOf(plan.graph, node.dependsOn[0] ?? '')) ?? draft.rowIn(chainSlot) ?? []].flat()
  }
  return node.dependsOn.flatMap(id => {
    const parent = namesOf(plan, id)
      .map(name => draft.latestOf(name))
      .find(ending => ending !== null)
    if (!parent || parent.outcome === 'not_taken') return []
    // The items of an `each` node stand between it and what comes after it.
    return plan.graph.find(id)?.kind === 'each' ? { ...parent, ordinal: parent.ordinal + 1 } : parent
  })
}

/** The name of a node and those that it had before. */
export function namesOf({ renamed }: Pick<Plan, 'renamed'>, id: string): string[] {
  if (renamed.size === 0) return [id]
  const name = ownerOf(id) ?? id
  const item = id.slice(name.length)
  return [id, ...[...renamed].filter(([, now]) => now === name).map(([before]) => `${before}${item}`)]
}

/** The latest ended attempt of a node, whatever its name was then. */
export function latestUnder(draft: ChangeDraft, plan: Pick<Plan, 'renamed'>, id: string): LatestEnding | null {
  const all = namesOf(plan, id).map(name => draft.latestOf(name))
  return all.find(ending => ending !== null) ?? null
}

export interface Again {
  readonly due: Due
  readonly failures: number
  readonly crashes: number
  /** A resumable step begins from the start; otherwise it goes on where it was. */
  readonly rewind?: boolean
  readonly keepsInput?: boolean
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
    // An item stays what it is, and so does what was given when a letter was requeued. A child is started anew, unless only
    // the worker was lost.
    input: (known !== null && known.kind !== 'child') || again.keepsInput ? before.input : null,
    runOn: again.runOn ?? null,
    ...(again.state === undefined ? {} : { state: again.state }),
  })
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
  const { node, due, runOn, after = 0, failures, crashes, progress } = forward
  const parents = parentsOf(draft, plan, node)
  const held = draft.isHeld
  const dueNow = 'inMs' in due && due.inMs === 0
  const mayRunOn = !held && dueNow && crashes === 0 && forward.state === undefined
  const handler = plan.handlerOf(node)
  const owner = mayRunOn && runOn?.serves(node.queue, handler) ? runOn.workerId : null
  // Named one by one: a wide fan-out comes through here for each of its nodes, and a spread is ten times slower.
  return draft.insert({
    slot: freeSlot(draft, plan, node),
    id: plan.takeId(),
    node: node.id,
    kind: 'forward',
    attempt: forward.attempt,
    ordinal: parents.reduce((latest, parent) => Math.max(latest, parent.ordinal), after) + 1,
    state: forward.state ?? (held ? 'paused' : owner === null ? 'scheduled' : 'in_progress'),
    queue: node.queue,
    handler,
    lane: node.job === undefined ? draft.facts.workflow.lane : '',
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
    ancestry: ancestryOf(
      node.id,
      forward.attempt,
      parents.map(({ id, ancestry }) => ({ id, hash: ancestry.hash })),
    ),
  })
}

/** A graph that has become a chain may have several rows still, which must not push each other out. */
function freeSlot(draft: ChangeDraft, { graph }: Plan, { id }: GraphNode): string {
  const slot = slotOf(graph, id)
  return !graph.isChain || draft.rowIn(slot) === null ? slot : id
}
