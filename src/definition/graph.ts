/**
 * The shape of a workflow without its code: what is stored with a definition, and all that a decision about the next
 * node may look at. A process without the class can work from it. A chain of steps is a graph like any other.
 */
import { InvariantError } from '../errors.ts'

/**
 * What a node does. `item` is one element of an `each` node; it is found by its id and never stored in a graph. Forks,
 * joins and save points do nothing themselves: they end in the moment in which they fall due.
 */
export type NodeKind =
  | 'step'
  | 'resumable'
  | 'each'
  | 'item'
  | 'child'
  | 'condition'
  | 'fork'
  | 'join'
  | 'savePoint'
  | 'human'
  | 'signal'

/** When a join goes on: all of its branches, so many of them, or once all have ended in whatever way. */
export type JoinRule = 'all' | 'settled' | { readonly atLeast: number }

/** What must come together in a join. */
export interface Join {
  readonly rule: JoinRule
  /** The ends of each branch, by id. Together they are what the join depends on. */
  readonly branches: readonly (readonly string[])[]
}

/** A join that goes on before all of its branches have ended well, and ends what it does without. */
export function isSelectiveJoin({ join }: Pick<GraphNode, 'join'>): boolean {
  return join !== undefined && join.rule !== 'all'
}

/** A node in a branch of a condition that no other node of the branch comes before, or that also depends on something outside of it. */
export interface Guard {
  /** The id of the condition, which the node depends on. */
  readonly condition: string
  /** It runs when the condition came out so, and is not taken otherwise. */
  readonly when: boolean
}

/** What undoes a node that has completed. */
export interface GraphCompensation {
  /** The name of the method, or of the job where the node has one. */
  readonly name: string
  /** Also undoes an attempt that has failed. */
  readonly afterFailure: boolean
  /** It is never called twice by the engine. */
  readonly once?: boolean
}

/** What becomes of a workflow when a person says no. */
export type OnReject = 'abort' | 'rollback' | { readonly backTo: string }

/** What a node that waits for people asks. Whoever decides needs it, with or without the code. */
export interface HumanWait {
  readonly prompt?: string
  /** The name of the form that the data of a decision must fit. */
  readonly form?: string
  readonly assignTo?: readonly string[]
  /** How many people must agree. */
  readonly quorum: number
  readonly onReject: OnReject
  /** Who else is told after so long, one after the other. */
  readonly escalations?: readonly { readonly afterMs: number; readonly to: readonly string[] }[]
}

export interface GraphNode {
  /** Stands in the rows. In a class it is the name; in a graph built at run time it is generated. */
  readonly id: string
  readonly name: string
  readonly kind: NodeKind
  readonly waitMs: number
  readonly queue: string
  readonly priority: number
  /** Ids of the nodes that must be satisfied before this one falls due, each once. */
  readonly dependsOn: readonly string[]
  /** The name of the job that is its code; without one the code is a method of the class. */
  readonly job?: string
  /** The stored name of the class that a child node starts; without one the code is a method of its own class. */
  readonly workflow?: string
  /** In the graph of a class: no method belongs to it. It came in with an imported graph. */
  readonly codeless?: true
  /** How many items of an `each` node may be under way at once; without it, all. */
  readonly concurrency?: number
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly guard?: Guard
  /** Set exactly for joins. */
  readonly join?: Join
  /** The expression of a condition that is stored; one of a class has code. */
  readonly test?: string
  readonly compensation?: GraphCompensation
  /** Set exactly for human nodes. */
  readonly human?: HumanWait
  /** How long a human or signal node waits; without it, for ever. */
  readonly waitTimeoutMs?: number
  /** Its code is never called twice by the engine: what a crash leaves open is for a person, or for its own method, to settle. */
  readonly once?: { readonly reconciles: boolean }
}

/** What happens to a workflow that has not ended by its deadline. */
export type DeadlineAction = (typeof deadlineActions)[number]

export const deadlineActions = ['cancel', 'pause'] as const

/** What happens to a workflow that stands at a node which the newest code does not have. */
export type MissingStepAction = 'pause' | 'skip'

/** A graph as it is stored: plain data, dependencies resolved. */
export interface GraphData {
  /** The stored name of the class; `null` for a graph that was built at run time. */
  readonly type: string | null
  readonly queue: string
  readonly priority: number
  readonly nodes: readonly GraphNode[]
  /** Former names of nodes, each with the present one. */
  readonly renamed?: Readonly<Record<string, string>>
  /** How long workflows may take that are started by it; without it, as long as they like. */
  readonly deadlineMs?: number
  /** Without it, they are canceled. */
  readonly onDeadline?: DeadlineAction
  /** How long what runs may take to stop. Default: 30 seconds. */
  readonly stopGraceMs?: number
  /** Without it, they fail there and pause. */
  readonly onMissingStep?: MissingStepAction
}

/** Separates the name of an `each` node from the number of an item. No other name may contain it. */
export const itemSeparator = '/'

/** An immutable graph with its edges indexed both ways. The data must be sound: no unknown names, no cycle. */
export class Graph {
  readonly data: GraphData
  readonly #nodes: ReadonlyMap<string, GraphNode>
  readonly #children = new Map<string, GraphNode[]>()
  #names: ReadonlyMap<string, string> | null = null
  /** Nodes that depend on nothing, in order. */
  readonly entries: readonly GraphNode[]
  /** Nodes that no other is sure to wait for: the workflow has ended when all of them have. */
  readonly leaves: readonly GraphNode[]
  readonly #leafIds: ReadonlySet<string>
  /** One node after the other: at most one can be active. */
  readonly isChain: boolean
  /** Something in it can be undone. */
  readonly isSaga: boolean
  /** What runs of it may depend on what a condition comes to. */
  readonly hasConditions: boolean
  /** Former names of nodes, each with the present one. */
  readonly renamed: ReadonlyMap<string, string>

  constructor(data: GraphData) {
    this.data = data
    this.renamed = new Map(Object.entries(data.renamed ?? {}))
    this.#nodes = new Map(data.nodes.map(node => [node.id, node]))
    for (const node of data.nodes) {
      for (const parent of node.dependsOn) {
        const siblings = this.#children.get(parent)
        if (siblings) siblings.push(node)
        else this.#children.set(parent, [node])
      }
    }
    this.hasConditions = data.nodes.some(node => node.guard !== undefined)
    this.isSaga = data.nodes.some(node => node.compensation !== undefined)
    this.entries = data.nodes.filter(node => node.dependsOn.length === 0)
    this.leaves = this.#leavesOf(data.nodes)
    this.#leafIds = new Set(this.leaves.map(node => node.id))
    this.isChain =
      this.entries.length <= 1 &&
      this.leaves.length <= 1 &&
      data.nodes.every(node => node.dependsOn.length <= 1 && node.kind !== 'each' && !node.guard && !node.join)
  }

  get type(): string | null {
    return this.data.type
  }

  /**
   * A node that its condition keeps from running is left out at once, whatever else it depends on. Where all that comes after a node
   * may be left out like that, only the end of the workflow is there to wait for it. A join that need not wait for all ends what
   * it does without, and so does the end of a workflow that has one.
   */
  #leavesOf(nodes: readonly GraphNode[]): GraphNode[] {
    const isSelective = nodes.some(isSelectiveJoin)
    const mayDoWithout = ({ guard }: GraphNode, parent: string) =>
      !isSelective && guard !== undefined && guard.condition !== parent
    return nodes.filter(({ id }) => this.childrenOf(id).every(child => mayDoWithout(child, id)))
  }

  /** Whether the end of the workflow waits for the node itself. */
  isLeaf(id: string): boolean {
    return this.#leafIds.has(id)
  }

  get size(): number {
    return this.data.nodes.length
  }

  get nodes(): readonly GraphNode[] {
    return this.data.nodes
  }

  /** A node by its id; an item of an `each` node is made up from that node. */
  find(id: string): GraphNode | null {
    const known = this.#nodes.get(id)
    if (known) return known
    const each = this.eachOf(id)
    return each ? { ...each, id, name: id, kind: 'item', waitMs: 0, dependsOn: [each.id] } : null
  }

  /** The id of a node that somebody names by its id, its name or a former name; what is unknown stays as it is. */
  idOf(given: string): string {
    const name = this.renamed.get(given) ?? given
    return this.find(name) ? name : (this.#byName().get(name) ?? name)
  }

  /** Only graphs that are built at run time have names apart from their ids. */
  #byName(): ReadonlyMap<string, string> {
    this.#names ??= new Map(this.data.nodes.map(node => [node.name, node.id]))
    return this.#names
  }

  /** The `each` node that an id is an item of. */
  eachOf(id: string): GraphNode | null {
    const end = id.lastIndexOf(itemSeparator)
    const each = end === -1 ? undefined : this.#nodes.get(id.slice(0, end))
    return each?.kind === 'each' && /^\d+$/.test(id.slice(end + 1)) ? each : null
  }

  /** What people call a node, or its id where there is none. */
  nameOf(id: string): string {
    return this.find(id)?.name ?? id
  }

  node(id: string): GraphNode {
    const found = this.find(id)
    if (found === null) throw new InvariantError(`The graph of ${this.type ?? 'a workflow'} has no node ${id}.`)
    return found
  }

  /** Nodes that depend on the node, in the order of their declaration. */
  childrenOf(id: string): readonly GraphNode[] {
    return this.#children.get(id) ?? []
  }

  /** Everything that cannot start before the node is satisfied, without the node itself. */
  descendantsOf(id: string): Set<string> {
    const found = new Set<string>()
    const open = [id]
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      for (const child of this.childrenOf(next)) {
        if (found.has(child.id)) continue
        found.add(child.id)
        open.push(child.id)
      }
    }
    return found
  }

  /** Parents before children; nodes without an order between them in the order of their declaration. */
  inOrder(): GraphNode[] {
    return orderOf(this.data.nodes).order
  }
}

/** The nodes in an order in which parents come first, and what is left over because it stands in a cycle. */
export function orderOf(nodes: readonly GraphNode[]): { order: GraphNode[]; left: GraphNode[] } {
  const byId = new Map(nodes.map(node => [node.id, node]))
  const waitsFor = new Map(nodes.map(node => [node.id, node.dependsOn.length]))
  const children = new Map<string, string[]>()
  for (const node of nodes) {
    for (const parent of node.dependsOn) {
      const known = children.get(parent)
      if (known) known.push(node.id)
      else children.set(parent, [node.id])
    }
  }
  const order = nodes.filter(node => node.dependsOn.length === 0)
  for (let index = 0; index < order.length; index++) {
    for (const child of children.get(order[index]?.id ?? '') ?? []) {
      const open = (waitsFor.get(child) ?? 0) - 1
      waitsFor.set(child, open)
      const node = byId.get(child)
      if (open === 0 && node) order.push(node)
    }
  }
  const done = new Set(order.map(node => node.id))
  return { order, left: nodes.filter(node => !done.has(node.id)) }
}

/** One cycle as the way from a node back to itself, `a → b → a`; `null` when there is none. */
export function cycleIn(nodes: readonly GraphNode[]): string[] | null {
  const { left } = orderOf(nodes)
  const byId = new Map(left.map(node => [node.id, node]))
  const way: GraphNode[] = []
  const places = new Map<string, number>()
  // Behind a cycle stand nodes that only follow from it, so the way leads up, to what each waits for.
  for (let node = left[0]; node !== undefined; node = nextUp(node, byId)) {
    const seen = places.get(node.id)
    if (seen !== undefined) return [...way.slice(seen), node].map(member => member.name).reverse()
    places.set(node.id, way.push(node) - 1)
  }
  return null
}

function nextUp(node: GraphNode, left: ReadonlyMap<string, GraphNode>): GraphNode | undefined {
  for (const parent of node.dependsOn) {
    const found = left.get(parent)
    if (found) return found
  }
  return undefined
}
