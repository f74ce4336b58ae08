/**
 * The graph of a workflow or a definition as a picture needs it: boxes and lines, siblings that only differ in their names
 * folded into one box, so that ten thousand nodes become a few.
 */
import type { Graph, GraphNode, NodeKind } from '../../definition/graph.ts'
import { type Box, foldPicture } from '../../drawing/fold.ts'
import { pictureOf } from '../../drawing/picture.ts'
import type { NodeState } from '../../engine/node-state.ts'
import { refuseUnknownOptions } from '../../primitives/refuse-unknown-options.ts'
import type { Rounds } from '../../store/rounds.ts'
import type { DrawnExecution } from '../execution.ts'
import { type NodeWithState, nodesWithState } from '../nodes-with-state.ts'

export interface GraphViewNode {
  /** The id of the node; of a fold, that of its first member. */
  readonly id: string
  readonly name: string
  readonly kind: NodeKind | 'compensation'
  /** `null` where the graph is a definition, which runs nowhere. */
  readonly state: NodeState | null
  readonly outcome: string | null
  readonly attempt: number
  readonly startedAt: Date | null
  readonly endedAt: Date | null
  readonly error: string | null
  /** Set for a box that stands for many nodes. */
  readonly fold: { readonly count: number; readonly states: Readonly<Record<string, number>> } | null
  /** The condition or fork in a branch of which it comes first. */
  readonly branchOf: string | null
  /** The node that it undoes. */
  readonly compensates: string | null
  readonly progress: GraphProgress | null
  /** The name of its job; for a human node, what people are asked. */
  readonly note: string | null
  /** What may be asked of it now. */
  readonly actions: readonly NodeAction[]
}

export interface GraphProgress {
  readonly done: number
  readonly total: number | null
  readonly etaMs: number | null
}

export type NodeAction = 'skip' | 'resolve' | 'reattempt' | 'signal' | 'decide'

export interface GraphViewEdge {
  readonly from: string
  readonly to: string
  readonly kind: 'dependency' | 'branch' | 'compensation'
  readonly label: string | null
}

export interface GraphView {
  readonly nodes: readonly GraphViewNode[]
  readonly edges: readonly GraphViewEdge[]
  /** Some box stands for many nodes. */
  readonly folded: boolean
  /** How many nodes there are in all. */
  readonly size: number
}

export interface GraphStates {
  readonly history: readonly DrawnExecution[]
  readonly compensations: readonly DrawnExecution[]
  /** It has not ended: something may be asked of its nodes. */
  readonly goesOn: boolean
  readonly rounds: Rounds
}

export interface FoldOptions {
  /** As many siblings become one box. Default 8. */
  readonly foldAt?: number
  /** The id of a fold whose members are shown, up to a thousand. */
  readonly expand?: string
}

const defaultFoldAt = 8
const mostExpanded = 1000

export function graphView(graph: Graph, states: GraphStates | null, options: FoldOptions = {}): GraphView {
  refuseUnknownOptions('The graph', options, ['foldAt', 'expand'])
  return new GraphViewMaker(graph, states).make(options)
}

class GraphViewMaker {
  readonly #graph: Graph
  readonly #states: GraphStates | null
  readonly #known: ReadonlyMap<string, NodeWithState>
  readonly #progress = new Map<string, GraphProgress>()
  readonly #undone = new Map<string, DrawnExecution>()
  /** The `each` nodes that have told their items. */
  readonly #withItems = new Set<string>()

  constructor(graph: Graph, states: GraphStates | null) {
    this.#graph = graph
    this.#states = states
    const nodes = states === null ? [] : nodesWithState(graph, states.history, states.rounds)
    this.#known = new Map(nodes.map(node => [node.id, node]))
    for (const { node, progress } of states?.history ?? []) {
      if (progress === null) continue
      const { completed: done, total, remainingMs: etaMs } = progress
      this.#progress.set(node, { done, total, etaMs })
    }
    for (const execution of states?.compensations ?? []) this.#undone.set(execution.node, execution)
    for (const { id } of nodes) this.#withItems.add(graph.eachOf(id)?.id ?? '')
  }

  make({ foldAt = defaultFoldAt, expand }: FoldOptions): GraphView {
    const drawn =
      this.#states === null
        ? undefined
        : new Map([...this.#known].map(([id, { state, attempt }]) => [id, { state, attempt }]))
    const boxes = foldPicture(pictureOf(this.#graph, drawn), foldAt)
    const shown = new Map(boxes.map(box => [box, this.#shown(box, expand)]))
    const nodes = [...shown.values()].flat()
    const undo = nodes.flatMap(node => this.#compensation(node))
    return {
      nodes: [...nodes, ...undo],
      edges: [...boxes.flatMap(box => this.#edges(box, shown)), ...undo.map(compensationEdge)],
      folded: nodes.some(({ fold }) => fold !== null),
      size: boxes.reduce((sum, box) => sum + box.nodes.length, 0),
    }
  }

  #shown(box: Box, expand: string | undefined): GraphViewNode[] {
    if (box.nodes.length === 1) return [this.#node(box.first.id)]
    if (box.first.id !== expand) return [this.#fold(box.nodes.map(({ id }) => id))]
    const members = box.nodes.slice(0, mostExpanded).map(({ id }) => this.#node(id))
    const rest = box.nodes.slice(mostExpanded).map(({ id }) => id)
    return rest.length === 0 ? members : [...members, this.#fold(rest)]
  }

  #node(id: string): GraphViewNode {
    const node = this.#graph.node(id)
    const known = this.#known.get(id) ?? null
    return {
      id,
      name: node.name,
      kind: node.kind,
      state: known?.state ?? null,
      outcome: known?.outcome ?? null,
      attempt: known?.attempt ?? 0,
      startedAt: known?.startedAt ?? null,
      endedAt: known?.endedAt ?? null,
      error: known?.error ? `${known.error.className}: ${known.error.message}` : null,
      fold: null,
      branchOf: node.guard?.condition ?? this.#forkBefore(node),
      compensates: null,
      progress: this.#progress.get(id) ?? null,
      note: node.human?.prompt ?? node.job ?? null,
      actions: this.#states?.goesOn && known ? actionsOf(node.kind, known.state) : [],
    }
  }

  /** Stands in for all of them with what its first member is. */
  #fold(ids: readonly string[]): GraphViewNode {
    const [first = ''] = ids
    const last = ids.at(-1) ?? first
    const states: Record<string, number> = {}
    for (const id of ids) {
      const state = this.#known.get(id)?.state ?? 'pending'
      states[state] = (states[state] ?? 0) + 1
    }
    const one = this.#node(first)
    const name = `${one.name} … ${this.#graph.node(last).name}`
    return { ...one, name, error: null, progress: null, actions: [], fold: { count: ids.length, states } }
  }

  #forkBefore({ dependsOn }: GraphNode): string | null {
    return dependsOn.find(id => this.#graph.find(id)?.kind === 'fork') ?? null
  }

  #edges(box: Box, shown: ReadonlyMap<Box, readonly GraphViewNode[]>): GraphViewEdge[] {
    return box.parents.flatMap(parent =>
      (shown.get(parent) ?? []).flatMap(from => (shown.get(box) ?? []).map(to => this.#edge(box, from.id, to.id))),
    )
  }

  #edge({ first }: Box, from: string, to: string): GraphViewEdge {
    if (first.guard?.condition === from) return { from, to, kind: 'branch', label: first.guard.when ? 'then' : 'else' }
    return { from, to, kind: this.#graph.find(from)?.kind === 'fork' ? 'branch' : 'dependency', label: null }
  }

  /** A box of its own for what undoes a node, with how far that is. Items have theirs, once they are there. */
  #compensation(node: GraphViewNode): GraphViewNode[] {
    const undo = this.#graph.find(node.id)?.compensation
    if (undo === undefined || node.fold !== null || this.#withItems.has(node.id)) return []
    const known = this.#undone.get(node.id) ?? null
    return [
      {
        ...node,
        id: `undo:${node.id}`,
        name: undo.name,
        kind: 'compensation',
        state: this.#states === null ? null : (known?.state ?? 'pending'),
        outcome: known?.outcome ?? null,
        attempt: known?.attempt ?? 0,
        startedAt: known?.startedAt ?? null,
        endedAt: known?.endedAt ?? null,
        error: known?.error ? `${known.error.className}: ${known.error.message}` : null,
        branchOf: null,
        compensates: node.id,
        progress: null,
        note: null,
        actions: [],
      },
    ]
  }
}

function compensationEdge({ id, compensates }: GraphViewNode): GraphViewEdge {
  return { from: compensates ?? '', to: id, kind: 'compensation', label: null }
}

/** What the engine would not refuse at first sight; it decides when it is asked. */
function actionsOf(kind: NodeKind, state: NodeState): NodeAction[] {
  if (state === 'failed') return ['reattempt', 'skip', 'resolve']
  if (state === 'waiting')
    return kind === 'human' ? ['decide', 'skip'] : kind === 'signal' ? ['signal', 'skip'] : ['skip']
  if (state === 'canceled') return ['reattempt']
  if (kind === 'signal' && state === 'pending') return ['signal']
  return state === 'scheduled' || state === 'suspended' || state === 'paused' ? ['skip'] : []
}
