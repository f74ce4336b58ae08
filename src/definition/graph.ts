/**
 * The shape of a workflow without its code: what is stored with a definition, and all that a decision about the next
 * step may look at. A process without the class can work from it.
 */
import type { WorkflowDefinition } from './workflow-definition.ts'

export interface GraphNode {
  readonly name: string
  readonly kind: 'step' | 'resumable'
  readonly waitMs: number
  readonly queue: string
  readonly priority: number
}

export interface Graph {
  readonly type: string
  readonly queue: string
  readonly priority: number
  readonly nodes: readonly GraphNode[]
}

export function graphOf(definition: WorkflowDefinition): Graph {
  return {
    type: definition.type,
    queue: definition.queue,
    priority: definition.priority,
    nodes: definition.nodes.map(node => ({
      name: node.name,
      kind: node.kind,
      waitMs: node.waitMs,
      queue: node.queue ?? definition.queue,
      priority: node.priority ?? definition.priority,
    })),
  }
}

export function findNode(graph: Graph, name: string): GraphNode | null {
  return graph.nodes.find(node => node.name === name) ?? null
}

/** The node after `name`; `null` at the end of the chain, `undefined` when the graph does not know `name`. */
export function nodeAfter(graph: Graph, name: string): GraphNode | null | undefined {
  const index = graph.nodes.findIndex(node => node.name === name)
  return index === -1 ? undefined : (graph.nodes[index + 1] ?? null)
}

/** Nodes that one of the other graphs has further ahead: a workflow that began there may have passed them already. */
export function movedBack(graph: Graph, others: readonly Graph[]): ReadonlySet<string> {
  const moved = new Set<string>()
  for (const other of others) {
    const places = new Map(other.nodes.map((node, index) => [node.name, index]))
    let furthest = -1
    for (const { name } of graph.nodes) {
      const place = places.get(name) ?? furthest
      if (place < furthest) moved.add(name)
      furthest = Math.max(furthest, place)
    }
  }
  return moved
}
