/**
 * Every node of a workflow's graph with the state of its latest attempt: what a picture or a table of a workflow shows.
 */
import type { Graph, GraphNode, NodeKind } from '../definition/graph.ts'
import type { NodeState } from '../engine/node-state.ts'
import { currentName } from '../engine/plan.ts'
import type { Outcome } from '../store/records.ts'
import { isOfThisRound, type Rounds } from '../store/rounds.ts'
import type { DrawnExecution } from './execution.ts'

export type { NodeState } from '../engine/node-state.ts'

export interface NodeWithState {
  readonly id: string
  readonly name: string
  readonly kind: NodeKind
  readonly job: string | null
  readonly dependsOn: readonly string[]
  readonly metadata: Readonly<Record<string, unknown>> | null
  readonly state: NodeState
  readonly outcome: Outcome | null
  /** The number of its latest attempt; 0 while there is none. */
  readonly attempt: number
  readonly scheduledFor: Date | null
  readonly startedAt: Date | null
  readonly endedAt: Date | null
  readonly error: DrawnExecution['error']
}

/** In the order of the graph. Items of `each` nodes stand behind their node, in order. */
export function nodesWithState(
  graph: Graph,
  history: readonly DrawnExecution[],
  rounds: Rounds = null,
): NodeWithState[] {
  const latest = new Map<string, DrawnExecution>()
  for (const execution of history) {
    const name = currentName(graph, execution.node)
    const known = latest.get(name)
    if (!known || known.attempt <= execution.attempt) latest.set(name, execution)
  }
  const items = itemsByNode(graph, [...latest.keys()])
  const stateOf = (node: GraphNode) => {
    const found = latest.get(node.id)
    const isOver = found !== undefined && !isOfThisRound(rounds, found)
    return isOver ? { ...withState(node, undefined), attempt: found.attempt } : withState(node, found)
  }
  return graph.nodes.flatMap(node => [
    stateOf(node),
    ...(items.get(node.id) ?? []).map(item => stateOf(graph.node(item))),
  ])
}

function itemsByNode(graph: Graph, names: readonly string[]): Map<string, string[]> {
  const items = new Map<string, string[]>()
  for (const name of names) {
    const each = graph.eachOf(name)
    if (each === null) continue
    const own = items.get(each.id)
    if (own) own.push(name)
    else items.set(each.id, [name])
  }
  const numberOf = (name: string) => Number(name.slice(name.lastIndexOf('/') + 1))
  for (const own of items.values()) own.sort((a, b) => numberOf(a) - numberOf(b))
  return items
}

function withState(node: GraphNode, latest: DrawnExecution | undefined): NodeWithState {
  return {
    id: node.id,
    name: node.name,
    kind: node.kind,
    job: node.job ?? null,
    dependsOn: node.dependsOn,
    metadata: node.metadata ?? null,
    state: latest === undefined ? 'pending' : latest.outcome === 'not_taken' ? 'not_taken' : latest.state,
    outcome: latest?.outcome ?? null,
    attempt: latest?.attempt ?? 0,
    scheduledFor: latest?.scheduledFor ?? null,
    startedAt: latest?.startedAt ?? null,
    endedAt: latest?.endedAt ?? null,
    error: latest?.error ?? null,
  }
}
