/**
 * What the end of some nodes may touch in the same transaction: what comes after them, past nodes that do nothing
 * themselves and past ways that are not taken. It may name more than is touched in the end, never less. Pure.
 */
import type { Graph, GraphNode } from '../definition/graph.ts'
import { isPassive } from './pass-node.ts'

export interface Reached {
  /** Nodes that may fall due, or be left out, or only be counted down. */
  readonly nodes: readonly GraphNode[]
  /** A node may end that the end of the workflow waits for. */
  readonly atEnd: boolean
}

/** `isDue` says whether so many arrivals are enough for a node; without it, one is. */
export function reachOf(
  graph: Graph,
  ended: Iterable<string>,
  isDue: (node: GraphNode, arrivals: number) => boolean = () => true,
): Reached {
  // By id: a map of objects gives each of them a number first, which costs more than all the rest.
  const arrivals = new Map<string, number>()
  const reached: GraphNode[] = []
  const walked = new Set<string>()
  const open = [...ended].map(id => ({ id, leftOut: false }))
  let atEnd = false
  for (const { id, leftOut } of open) {
    if (walked.has(id)) continue
    walked.add(id)
    const children = graph.childrenOf(id)
    if (graph.isLeaf(id)) atEnd = true
    for (const child of children) {
      const count = (arrivals.get(child.id) ?? 0) + 1
      arrivals.set(child.id, count)
      if (count === 1) reached.push(child)
      const mayBeLeftOut = leftOut || child.guard !== undefined
      if (child.guard?.condition === id) open.push({ id: child.id, leftOut: true })
      else if ((isPassive(child) || mayBeLeftOut) && isDue(child, count)) {
        open.push({ id: child.id, leftOut: mayBeLeftOut })
      }
    }
  }
  const nodes = reached.filter(node => node.guard !== undefined || isDue(node, arrivals.get(node.id) ?? 0))
  return { nodes, atEnd }
}
