/**
 * Whether the branches, joins and ways back of a graph from outside fit together: what the verbs make sure of in a graph
 * that is described here. Takes time in proportion to nodes and edges.
 */
import { InvalidGraphError } from '../errors.ts'
import { mistakeInBackTo } from './back-to.ts'
import { joinSuffix } from './bind-branches.ts'
import { nodeCalled } from './check-structure.ts'
import { type FrozenNode, type FrozenNodes, graphOfFrozen } from './frozen-graph.ts'
import type { Graph, GraphNode } from './graph.ts'

/** The nodes must form a graph. Throws `InvalidGraphError`, naming the node. */
export function checkFlow(nodes: FrozenNodes): void {
  if (!Object.values(nodes).some(hasFlow)) return
  const graph = graphOfFrozen({ nodes }, { type: null, queue: '', priority: 0, jobOptions: () => null })
  const guarding = new Set(graph.nodes.flatMap(node => node.guard?.condition ?? []))
  for (const node of graph.nodes) {
    const mistake =
      mistakeIn(graph, node) ?? (node.kind === 'condition' && !guarding.has(node.id) ? 'it has no branch' : null)
    if (mistake !== null) throw new InvalidGraphError(`${nodeCalled(node.name, node.id)}: ${mistake}.`)
  }
  checkSavePoints(graph)
  const mistake = mistakeInBackTo(graph)
  if (mistake !== null) throw new InvalidGraphError(`The graph, ${mistake}`)
}

function hasFlow({ kind, guard, human }: FrozenNode): boolean {
  return guard !== undefined || human !== undefined || (kind !== undefined && flowKinds.includes(kind))
}

const flowKinds: readonly string[] = ['condition', 'fork', 'join', 'savePoint']

function mistakeIn(graph: Graph, { id, kind, dependsOn, guard, join }: GraphNode): string | null {
  if (guard && (!dependsOn.includes(guard.condition) || graph.find(guard.condition)?.kind !== 'condition'))
    return 'its guard names a node that is no condition, or that it does not depend on'
  if (kind === 'fork' && graph.childrenOf(id).length < 2) return 'a fork needs at least two branches'
  if (id.endsWith(joinSuffix) && graph.find(id.slice(0, -joinSuffix.length))?.kind !== 'fork')
    return 'it has the id of the join of a fork that is not there'
  if (!join) return null
  const ends = join.branches.flat()
  const isParted = new Set(ends).size === ends.length && ends.length === dependsOn.length
  const parents = new Set(dependsOn)
  if (isParted && ends.every(end => parents.has(end))) return null
  return 'the branches of its join must part what it depends on'
}

/** Inside of a fork, or where it may not be taken at all, a rollback would stop for a branch only. */
function checkSavePoints(graph: Graph): void {
  if (!graph.nodes.some(node => node.kind === 'savePoint')) return
  const untaken = new Set<string>()
  /** The forks that are open where a node stands: those it comes after, and whose joins it does not. */
  const open = new Map<string, ReadonlySet<string>>()
  for (const node of graph.inOrder()) {
    const { id, name, kind, dependsOn, guard } = node
    if (guard || (dependsOn.length > 0 && dependsOn.every(parent => untaken.has(parent)))) untaken.add(id)
    const forks = new Set(dependsOn.flatMap(parent => [...(open.get(parent) ?? [])]))
    if (id.endsWith(joinSuffix)) forks.delete(id.slice(0, -joinSuffix.length))
    if (kind === 'savePoint' && (untaken.has(id) || forks.size > 0)) {
      throw new InvalidGraphError(
        `${nodeCalled(name, id)}: a save point cannot stand in a branch. Put it before or behind.`,
      )
    }
    if (kind === 'fork' && graph.find(id + joinSuffix)) forks.add(id)
    open.set(id, forks)
  }
}
