/**
 * Whether a rejection can go back: every node from the target to the human node runs again then, so nothing outside of
 * that stretch may have started from within it, and nothing may lead to the human node past the target.
 */
import type { Graph, GraphNode } from './graph.ts'

/** Says what is wrong with a way back in the graph; `null` when all are sound. */
export function mistakeInBackTo(graph: Graph): string | null {
  for (const node of graph.nodes) {
    const onReject = node.human?.onReject
    if (typeof onReject !== 'object') continue
    const mistake = mistakeIn(graph, node, onReject.backTo)
    if (mistake !== null) return `human ${node.name}: it goes back to ${onReject.backTo}, ${mistake}`
  }
  return null
}

function mistakeIn(graph: Graph, human: GraphNode, target: string): string | null {
  if (graph.find(target) === null) return 'which is not there.'
  const behindTarget = graph.descendantsOf(target)
  if (target === human.id || !behindTarget.has(human.id)) return 'which does not come before it.'
  const past = leadsPast(graph, human, target)
  if (past !== null)
    return `but ${nameOf(graph, past)} leads to it without that step. Choose one that comes before on every path.`
  const before = ancestorsOf(graph, human)
  const blocked = waitingFor(graph, human)
  for (const id of [target, ...behindTarget]) {
    if (!before.has(id)) continue
    const out = graph.childrenOf(id).find(child => !blocked.has(child.id) && !before.has(child.id))
    if (out) {
      return `but ${out.name} goes on from ${nameOf(graph, id)} without waiting for the decision. Let it depend on ${human.name}.`
    }
  }
  return null
}

function ancestorsOf(graph: Graph, { dependsOn }: GraphNode): Set<string> {
  const found = new Set<string>()
  const open = [...dependsOn]
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (found.has(id)) continue
    found.add(id)
    open.push(...graph.node(id).dependsOn)
  }
  return found
}

/** An entry point from which a path leads to the human node and not through the target. */
function leadsPast(graph: Graph, human: GraphNode, target: string): string | null {
  const seen = new Set<string>()
  const open = [human.id]
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (id === target || seen.has(id)) continue
    seen.add(id)
    const { dependsOn } = graph.node(id)
    if (dependsOn.length === 0) return id
    open.push(...dependsOn)
  }
  return null
}

/** The human node, and all that cannot start before it has been decided. A join that needs few branches may do without it. */
function waitingFor(graph: Graph, human: GraphNode): Set<string> {
  const blocked = new Set([human.id])
  for (const { id, dependsOn, join } of graph.inOrder()) {
    if (!dependsOn.some(parent => blocked.has(parent))) continue
    if (join && typeof join.rule === 'object') {
      const free = join.branches.filter(branch => !branch.some(end => blocked.has(end))).length
      if (free >= join.rule.atLeast) continue
    }
    blocked.add(id)
  }
  return blocked
}

function nameOf(graph: Graph, id: string): string {
  return graph.node(id).name
}
