/**
 * What a drawing is made from: nodes with names, dependencies and, for a workflow that runs, states. It holds no
 * layout and no format, and knows nothing of where the states came from.
 */
import type { Graph, GraphNode, Guard, Join, NodeKind } from '../definition/graph.ts'

/** How a node stands: the state of its latest execution, or one of the two words for a node that has none. */
export type StateWord =
  /** It has no execution yet. */
  | 'pending'
  | 'scheduled'
  | 'in_progress'
  | 'suspended'
  | 'waiting'
  | 'paused'
  | 'completed'
  | 'failed'
  | 'skipped'
  | 'canceled'
  /** The workflow went another way. */
  | 'not_taken'
  | 'compensating'
  | 'rolled_back'

/** How a node of a live workflow stands. */
export interface DrawnState {
  readonly state: StateWord
  /** The number of its latest attempt; the first is not worth a word in a drawing. */
  readonly attempt?: number
  /** How far it has got, in the words of whoever counts: `1,200 of 5,000 rows`. */
  readonly progress?: string
}

export interface PictureNode {
  readonly id: string
  /** What people read. Any text: every format escapes it. */
  readonly name: string
  readonly kind: NodeKind
  /** Ids of other nodes of the picture. */
  readonly dependsOn: readonly string[]
  /** Siblings are folded into one box only if they do the same job. */
  readonly job?: string
  /** The condition that it depends on, by id, and the answer that it runs on. */
  readonly guard?: Guard
  /** Normally a `StateWord`; another word is shown as it is. Absent or `null`: the drawing says nothing of states. */
  readonly state?: string | null
  readonly attempt?: number
  readonly progress?: string
  /** Anything else to say about the node. */
  readonly note?: string
}

export interface Picture {
  /** Stands above text and DOT. Mermaid has no place for it that all its readers know. */
  readonly title: string | null
  /** In the order of their declaration, which decides where a drawing has a choice. */
  readonly nodes: readonly PictureNode[]
}

/**
 * The picture of a graph. With states it is that of a workflow: a node without one is `pending`, and the items of an
 * `each` node appear behind it. A state of a node that the graph does not have is left out.
 */
export function pictureOf(graph: Graph, states?: ReadonlyMap<string, DrawnState>): Picture {
  const items = states ? itemsIn(graph, states) : new Map<string, GraphNode[]>()
  const nodes = graph.nodes.flatMap(node => [node, ...(items.get(node.id) ?? [])])
  return { title: graph.type, nodes: nodes.map(node => drawn(node, states)) }
}

function drawn(node: GraphNode, states?: ReadonlyMap<string, DrawnState>): PictureNode {
  const { id, name, kind, dependsOn, job, guard, join } = node
  const rule = join && ruleOf(join)
  const stand: DrawnState | { state: null } = states ? (states.get(id) ?? { state: 'pending' }) : { state: null }
  return {
    ...{ id, name, kind, dependsOn },
    ...(job === undefined ? {} : { job }),
    ...(guard ? { guard } : {}),
    ...(rule ? { note: rule } : {}),
    ...stand,
  }
}

/** In words where a join does not wait for all. */
function ruleOf({ rule, branches }: Join): string | null {
  if (rule === 'all') return null
  return rule === 'settled' ? 'all ended' : `${rule.atLeast} of ${branches.length}`
}

function itemsIn(graph: Graph, states: ReadonlyMap<string, DrawnState>): Map<string, GraphNode[]> {
  const items = new Map<string, GraphNode[]>()
  for (const id of states.keys()) {
    const each = graph.eachOf(id)
    if (!each) continue
    const known = items.get(each.id)
    if (known) known.push(graph.node(id))
    else items.set(each.id, [graph.node(id)])
  }
  for (const [each, found] of items) found.sort((a, b) => numberOf(a, each) - numberOf(b, each))
  return items
}

function numberOf(item: GraphNode, each: string): number {
  return Number(item.id.slice(each.length + 1))
}
