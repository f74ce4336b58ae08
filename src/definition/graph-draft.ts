/**
 * A graph while it is being described: the nodes so far, with what they name. Names of nodes that come later are resolved
 * at the end, when branches are bound; everything else is checked where it is written, so that the stack of an error
 * shows the line.
 */
import { InvalidGraphError } from '../errors.ts'
import { randomId } from '../primitives/random-id.ts'
import { mistakeInBackTo } from './back-to.ts'
import { type Bound, bindBranches, type FlowNode, type FlowScope, joinSuffix } from './bind-branches.ts'
import { BuiltGraph } from './built-graph.ts'
import { checkStructure, nodeCalled } from './check-structure.ts'
import { type Form, isForm } from './define-form.ts'
import { type FrozenNode, type FrozenNodes, graphOfFrozen } from './frozen-graph.ts'
import type { JoinRule } from './graph.ts'
import { type GraphLimits, GraphTally } from './graph-limits.ts'
import { isJob, type Job } from './job.ts'
import { type FanOut, isFanOut, NodeHandle } from './node-handle.ts'
import { mistakeInGraphName } from './node-name.ts'
import { inGraph } from './node-rules.ts'

export interface DraftNode {
  readonly handle: NodeHandle
  /** Its edges are filled in at the end, when every name is known. */
  readonly frozen: { -readonly [Field in keyof FrozenNode]: FrozenNode[Field] }
  /** Ids of the nodes whose outputs its arguments refer to. */
  readonly references: ReadonlySet<string>
  /** Names of the nodes whose outputs its expression asks for. */
  readonly asks: ReadonlySet<string>
  readonly parents: Parents
  readonly scope: FlowScope | null
  /** Set exactly for joins. */
  readonly rule: JoinRule | null
  /** The fork whose branches it brings together. */
  readonly joins: DraftNode | null
}

/** Nodes, and names of nodes that are not there yet. The items of a fan-out share one set. */
export type Parents = ReadonlySet<DraftNode | string>

export type NewDraftNode = Pick<DraftNode, 'frozen' | 'parents' | 'scope'> &
  Partial<Pick<DraftNode, 'references' | 'asks' | 'rule' | 'joins'>>

const none: ReadonlySet<string> = new Set()

/** Enough for more nodes than a graph may have, unless its limits are raised. */
const placeDigits = 4

export class GraphDraft {
  readonly limits: GraphLimits
  readonly tally: GraphTally
  readonly #byName = new Map<string, DraftNode>()
  readonly #byId = new Map<string, DraftNode>()
  /** What each fan-out stands for: its nodes, or what it depended on where it has none. */
  readonly #fanOuts = new Map<FanOut, Parents>()
  readonly #jobs = new Map<string, Job>()
  readonly #forms = new Map<string, Form>()
  /** What no other graph has, and all nodes of this one. */
  readonly #ownName = randomId(8)
  /** What nodes take that say nothing else. */
  defaults: Readonly<Record<string, unknown>> = {}
  #hasBranches = false
  #closed = false

  constructor(limits: GraphLimits) {
    this.limits = limits
    this.tally = new GraphTally(limits)
  }

  get isEmpty(): boolean {
    return this.#byId.size === 0
  }

  close(): void {
    this.#closed = true
  }

  finish(): BuiltGraph {
    this.close()
    const nodes = this.#frozenNodes()
    checkStructure(nodes, this.#references())
    this.#checkWaysBack(nodes)
    // They are written out here: what is stored and what is run must be the same.
    for (const node of Object.values(nodes)) Object.freeze(node)
    const text = JSON.stringify(nodes)
    const bytes = Buffer.byteLength(text)
    new GraphTally(this.limits).add('bytes', bytes)
    return new BuiltGraph({ nodes, jobs: this.#jobs, forms: this.#forms, text, bytes })
  }

  /** Runs what adds to the graph; whatever a mistake is found by, it is a mistake in the graph. */
  adding<T>(add: () => T): T {
    if (this.#closed) {
      throw new InvalidGraphError('The graph has been built and takes no more nodes. Build another one.')
    }
    return inGraph(this.limits.bytes, add)
  }

  freeName(name: unknown): string {
    const mistake = mistakeInGraphName(name)
    if (mistake !== null) throw new InvalidGraphError(`The name of a node ${mistake}. Choose another.`)
    if (this.#byName.has(name as string)) {
      throw new InvalidGraphError(`There is a node named ${JSON.stringify(name)} already. Names are unique in a graph.`)
    }
    return name as string
  }

  knownJob(job: unknown, where: string, what = 'its job'): Job {
    if (!isJob(job)) {
      throw new InvalidGraphError(`${where}: ${what} is not what defineJob returned. Was it imported in a circle?`)
    }
    return remembered(this.#jobs, job, `${where}: there are two jobs`)
  }

  /** `undefined` where nothing was said. */
  knownForm(form: unknown, option: string, where: string): Form | undefined {
    if (form === undefined) return undefined
    if (!isForm(form)) {
      throw new InvalidGraphError(`${where}: its ${option} is stored by name, so it must be what defineForm returned.`)
    }
    return remembered(this.#forms, form, `${where}: there are two forms`)
  }

  parents(dependsOn: unknown, where: string, option = 'dependsOn'): Parents {
    if (dependsOn === null) return new Set()
    if (isFanOut(dependsOn)) return this.#nodesOf(dependsOn, where)
    const parents = new Set<DraftNode | string>()
    for (const one of Array.isArray(dependsOn) ? dependsOn : [dependsOn]) {
      for (const parent of isFanOut(one) ? this.#nodesOf(one, where) : [this.#parent(one, where, option)])
        parents.add(parent)
    }
    return parents
  }

  /** To depend on a fan-out over nothing is to depend on what it depended on. */
  addFanOut(fanOut: FanOut, standsFor: Parents): void {
    this.#fanOuts.set(fanOut, standsFor)
  }

  add({ frozen, parents, scope, references = none, asks = none, rule = null, joins = null }: NewDraftNode): DraftNode {
    const { name, kind } = frozen
    this.tally.add('nodes', 1)
    this.tally.add('edges', parents.size)
    const handle = new NodeHandle(joins === null ? this.#nextId() : joins.handle.id + joinSuffix, name)
    const node = { handle, frozen, references, asks, parents, scope, rule, joins }
    this.#byName.set(name, node)
    this.#byId.set(handle.id, node)
    if (kind === 'fork' || kind === 'condition' || kind === 'join') this.#hasBranches = true
    return node
  }

  #nodesOf(fanOut: FanOut, where: string): Parents {
    const nodes = this.#fanOuts.get(fanOut)
    if (nodes) return nodes
    throw new InvalidGraphError(`${where} depends on a fan-out of another graph.`)
  }

  #parent(dependency: unknown, where: string, option: string): DraftNode | string {
    if (typeof dependency === 'string') return this.#byName.get(dependency) ?? dependency
    const node = dependency instanceof NodeHandle ? this.#byId.get(dependency.id) : undefined
    if (node && node.handle === dependency) return node
    throw new InvalidGraphError(
      `${where}: \`${option}\` takes names, and what \`node\` and \`fanOut\` of this graph returned, one or several.`,
    )
  }

  /**
   * In the order in which they are added: rows are kept and looked up by it, and so those that begin, are claimed and end
   * together stand side by side.
   */
  #nextId(): string {
    const place = this.#byId.size.toString(36).padStart(placeDigits, '0')
    return `n_${this.#ownName}${place}`
  }

  #frozenNodes(): FrozenNodes {
    const idsOf = new Map<Parents, readonly string[]>()
    const named = (node: DraftNode) => {
      const ids = idsOf.get(node.parents) ?? this.#idsOf(node.parents, node.frozen.name)
      idsOf.set(node.parents, ids)
      return ids
    }
    const bound = this.#hasBranches ? this.#bind(named) : null
    const edges = new GraphTally(this.limits)
    const nodes: Record<string, FrozenNode> = {}
    for (const [id, node] of this.#byId) {
      const { dependsOn, guard, join } = bound?.get(id) ?? { dependsOn: named(node) }
      edges.add('edges', dependsOn.length)
      node.frozen.depends_on = dependsOn
      if (guard) node.frozen.guard = guard
      if (join) node.frozen.join = join
      nodes[id] = node.frozen
    }
    return Object.freeze(nodes)
  }

  #bind(named: (node: DraftNode) => readonly string[]): Map<string, Bound> {
    const nodes = [...this.#byId].map(([id, node]): FlowNode => {
      const { scope, rule, joins } = node
      const { name, kind = 'step' } = node.frozen
      return { id, name, kind, scope, named: named(node), rule, joins: joins === null ? null : joins.handle.id }
    })
    return bindBranches(nodes, ({ name }, mistake) => new InvalidGraphError(`${nodeCalled(name)}: ${mistake}`))
  }

  /** A name and the node that was meant by it may stand side by side where an empty fan-out stood for the name. */
  #idsOf(parents: Parents, child: string): readonly string[] {
    const ids = new Set<string>()
    for (const parent of parents) {
      ids.add(typeof parent === 'string' ? this.#idFor(parent, child, 'depends on') : parent.handle.id)
    }
    return [...ids]
  }

  #idFor(name: string, child: string, how: string): string {
    const node = this.#byName.get(name)
    if (node) return node.handle.id
    throw new InvalidGraphError(
      `${nodeCalled(child)} ${how} ${JSON.stringify(name)}, but the graph has no node of that name.`,
    )
  }

  #references(): Map<string, ReadonlySet<string>> {
    const references = new Map<string, ReadonlySet<string>>()
    for (const [id, node] of this.#byId) {
      if (node.references.size + node.asks.size === 0) continue
      const asked = [...node.asks].map(name => this.#idFor(name, node.frozen.name, 'asks for the output of'))
      references.set(id, new Set([...node.references, ...asked]))
    }
    return references
  }

  /** Steps to go back to are named, and stored by their ids. */
  #checkWaysBack(nodes: FrozenNodes): void {
    let some = false
    for (const { frozen } of this.#byId.values()) {
      const onReject = frozen.human?.on_reject
      if (typeof onReject !== 'object') continue
      some = true
      frozen.human = {
        ...frozen.human,
        on_reject: { back_to: this.#idFor(onReject.back_to, frozen.name, 'goes back to') },
      }
    }
    const mistake = some ? mistakeInBackTo(graphOfFrozen({ nodes }, plain)) : null
    if (mistake !== null) throw new InvalidGraphError(`The graph, ${mistake}`)
  }
}

const plain = { type: null, queue: '', priority: 0, jobOptions: () => null }

function remembered<T extends { readonly name: string }>(known: Map<string, T>, value: T, what: string): T {
  const namesake = known.get(value.name)
  if (namesake !== undefined && namesake !== value) {
    throw new InvalidGraphError(`${what} named ${JSON.stringify(value.name)}. Rename one.`)
  }
  known.set(value.name, value)
  return value
}
