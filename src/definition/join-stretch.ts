/**
 * What leads to a join and to nothing else: the stretch of each of its branches. A join that need not wait for all of its
 * branches answers for what happens there. Derived from the graph, however its branches were written.
 */
import { type Graph, type GraphNode, isSelectiveJoin } from './graph.ts'

export interface JoinStretch {
  readonly join: GraphNode
  /** The number of the branch that a node belongs to, for every node that leads to this branch alone. */
  readonly branchOf: ReadonlyMap<string, number>
  /** Of those, the nodes that nobody needs once the join is decided. */
  readonly losers: ReadonlySet<string>
}

const known = new WeakMap<Graph, readonly JoinStretch[]>()

/** The joins that need not wait for all, inner ones before those that they lie in. */
export function selectiveJoins(graph: Graph): readonly JoinStretch[] {
  const found = known.get(graph)
  if (found) return found
  const joins = graph.nodes.filter(isSelectiveJoin)
  const stretches = joins.map(join => stretchOf(graph, join)).sort((a, b) => a.branchOf.size - b.branchOf.size)
  known.set(graph, stretches)
  return stretches
}

/** The joins that answer for a node, the innermost first. Where something else depends on it too, none can. */
export function joinsOver(graph: Graph, node: string): JoinStretch[] {
  const id = graph.eachOf(node)?.id ?? node
  return selectiveJoins(graph).filter(({ losers }) => losers.has(id))
}

function stretchOf(graph: Graph, join: GraphNode): JoinStretch {
  const leading = (join.join?.branches ?? []).map(ends => ancestorsOf(graph, ends))
  const branchOf = new Map<string, number>()
  for (const [branch, nodes] of leading.entries()) {
    for (const id of nodes) {
      if (leading.every((others, other) => other === branch || !others.has(id))) branchOf.set(id, branch)
    }
  }
  return { join, branchOf, losers: losersIn(graph, join, branchOf) }
}

function ancestorsOf(graph: Graph, ends: readonly string[]): Set<string> {
  const found = new Set(ends)
  for (const id of found) for (const parent of graph.find(id)?.dependsOn ?? []) found.add(parent)
  return found
}

/** From the join upwards: a node that leads to something else as well is needed there. */
function losersIn(graph: Graph, join: GraphNode, branchOf: ReadonlyMap<string, number>): Set<string> {
  const losers = new Set<string>()
  for (const { id } of graph.inOrder().reverse()) {
    if (!branchOf.has(id)) continue
    const children = graph.childrenOf(id)
    if (children.every(child => child.id === join.id || losers.has(child.id))) losers.add(id)
  }
  return losers
}
