/**
 * Which row comes next in a chain, and in which state it begins. Conditions are never looked at here: they are
 * evaluated when the step is about to run.
 */
import { findNode, type Graph, type GraphNode, nodeAfter } from '../definition/graph.ts'
import { StepMissingError } from '../errors.ts'
import type { Due, NewExecution } from '../store/change.ts'
import { noProgress, type Progress } from '../store/records.ts'
import type { ChangeDraft } from './change-draft.ts'

/** The slot of a chain's row: the same for all its steps, so that only one can be active. */
export const chainSlot = ''

/** The queue of timers, which run no code of the application. No queue of a class can have this name. */
export const timerQueue = ''

export interface Plan {
  readonly graph: Graph
  readonly generation: number
  /** Nodes that other code had further ahead. They are left alone where the workflow has passed them. */
  readonly movedBack: ReadonlySet<string>
  /** Other graphs of the type, newest first: they tell where a node stood that `graph` has lost. */
  readonly others: readonly Graph[]
  /** A fresh id for the row that may follow. */
  readonly nextId: string
  /** A fresh id for an attempt that is inserted already ended. */
  readonly skippedId: string
  /** The worker that may go on at once with the next step, where queue and shutdown allow it. */
  readonly runOn: { readonly workerId: string; serves(queue: string): boolean } | null
}

/** What is carried over from the row before. */
export interface Predecessor {
  readonly node: string
  readonly attempt: number
  readonly ordinal: number
  readonly fence: number
  readonly progress: Progress
}

/** Goes on after `node`: the next step, or the end of the workflow. A paused workflow stays paused at its end. */
export function advance(draft: ChangeDraft, plan: Plan, before: Predecessor): NewExecution | null {
  const node = nextNode(draft, plan, before.node)
  if (node === null) {
    if (draft.state !== 'paused') draft.moveWorkflow('finished')
    return null
  }
  return insertForward(draft, plan, {
    node,
    attempt: 1,
    ordinal: before.ordinal + 1,
    fence: before.fence + 1,
    due: { inMs: node.waitMs },
    failures: 0,
    crashes: 0,
    progress: noProgress,
  })
}

/** What follows `name`, or `null` at the end; nodes that the workflow has passed are left alone. */
export function nextNode(draft: ChangeDraft, plan: Plan, name: string): GraphNode | null {
  const { passed } = draft.facts
  let node = nodeBehind(draft, plan, name)
  while (node !== null && plan.movedBack.has(node.name) && passed.has(node.name)) {
    node = nodeAfter(plan.graph, node.name) ?? null
  }
  return node
}

/** Behind a node that the code has lost stands what follows the nearest node before it that is left. */
function nodeBehind(draft: ChangeDraft, { graph, others }: Plan, name: string): GraphNode | null {
  const known = nodeAfter(graph, name)
  if (known !== undefined) return known
  const other = others.find(candidate => findNode(candidate, name) !== null)
  if (other === undefined) throw new StepMissingError(draft.workflowId, graph.type, name)
  const place = other.nodes.findIndex(node => node.name === name)
  const before = other.nodes.slice(0, place).findLast(node => findNode(graph, node.name) !== null)
  return (before === undefined ? graph.nodes[0] : nodeAfter(graph, before.name)) ?? null
}

export interface Again {
  readonly due: Due
  readonly failures: number
  readonly crashes: number
  /** A resumable step begins from the start; otherwise it goes on where it was. */
  readonly rewind?: boolean
}

/** The next attempt at the same node. */
export function repeat(draft: ChangeDraft, plan: Plan, before: Predecessor, again: Again): NewExecution {
  const node = findNode(plan.graph, before.node) ?? lostNode(plan.graph, before.node)
  return insertForward(draft, plan, {
    node,
    attempt: before.attempt + 1,
    ordinal: before.ordinal + 1,
    fence: before.fence + 1,
    due: again.due,
    failures: again.failures,
    crashes: again.crashes,
    progress: again.rewind ? noProgress : before.progress,
  })
}

/** A node that the code no longer has keeps its place; the worker that claims it says what is wrong. */
function lostNode(graph: Graph, name: string): GraphNode {
  return { name, kind: 'step', waitMs: 0, queue: graph.queue, priority: graph.priority }
}

interface Forward {
  readonly node: GraphNode
  readonly attempt: number
  readonly ordinal: number
  readonly fence: number
  readonly due: Due
  readonly failures: number
  readonly crashes: number
  readonly progress: Progress
}

function insertForward(draft: ChangeDraft, plan: Plan, forward: Forward): NewExecution {
  const { node, due } = forward
  const held = draft.state === 'paused'
  const dueNow = 'inMs' in due && due.inMs === 0
  const owner = !held && dueNow && forward.crashes === 0 && plan.runOn?.serves(node.queue) ? plan.runOn.workerId : null
  return draft.insert({
    slot: chainSlot,
    id: plan.nextId,
    node: node.name,
    kind: 'forward',
    attempt: forward.attempt,
    ordinal: forward.ordinal,
    state: held ? 'paused' : owner === null ? 'scheduled' : 'in_progress',
    queue: node.queue,
    handler: plan.graph.type,
    generation: plan.generation,
    priority: node.priority,
    due,
    owner,
    fence: forward.fence,
    failures: forward.failures,
    crashes: forward.crashes,
    // Each claim counts as a run, and so does going on at once.
    progress: owner === null ? forward.progress : { ...forward.progress, runs: forward.progress.runs + 1 },
  })
}
