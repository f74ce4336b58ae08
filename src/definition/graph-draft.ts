/**
 * A graph while it is being described. Names of nodes that come later are resolved at the end; everything else is checked
 * where it is written, so that the stack of an error shows the line.
 */
import { InvalidGraphError } from '../errors.ts'
import { randomId } from '../primitives/random-id.ts'
import { BuiltGraph } from './built-graph.ts'
import { checkStructure, nodeCalled } from './check-structure.ts'
import type { FrozenNode, FrozenNodes } from './frozen-graph.ts'
import type { FanOutOptions, GraphBuilder, NodeOptions } from './graph-builder.ts'
import { type GraphLimits, GraphTally } from './graph-limits.ts'
import { isJob, type Job } from './job.ts'
import { type EncodedArgs, encodeArgs } from './node-args.ts'
import { type FanOut, fanOutOf, isFanOut, NodeHandle } from './node-handle.ts'
import { mistakeInGraphName } from './node-name.ts'
import { inGraph, type StoredRules, storedRules } from './node-rules.ts'
import { refuseUnknownKeys } from './option-checks.ts'
import { OutputReference } from './output-reference.ts'
import { isPlainObject, toInputIssue } from './validate-input.ts'

interface DraftNode {
  readonly handle: NodeHandle
  /** Its dependencies are filled in at the end, when every name is known. */
  readonly frozen: FrozenNode & { depends_on: readonly string[] }
  readonly references: ReadonlySet<string>
  readonly parents: Parents
}

/** Nodes, and names of nodes that are not there yet. The items of a fan-out share one set. */
type Parents = ReadonlySet<DraftNode | string>

/** What the nodes of one call have in common. */
interface Shared {
  readonly job: Job
  readonly rules: StoredRules
  readonly parents: Parents
}

const settings = ['job', 'args', 'dependsOn', 'wait', 'queue', 'priority', 'retry', 'onException', 'metadata']

export class GraphDraft implements GraphBuilder {
  readonly #limits: GraphLimits
  readonly #tally: GraphTally
  readonly #byName = new Map<string, DraftNode>()
  readonly #byId = new Map<string, DraftNode>()
  /** What each fan-out stands for: its nodes, or what it depended on where it has none. */
  readonly #fanOuts = new Map<FanOut, Parents>()
  readonly #jobs = new Map<string, Job>()
  #previous: Parents = new Set()
  /** For the next ids, fetched together, since each call would cost as much as the rest of a node. */
  readonly #random: string[] = []
  #closed = false

  constructor(limits: GraphLimits) {
    this.#limits = limits
    this.#tally = new GraphTally(limits)
  }

  node<Args, Output>(name: string, options: NodeOptions<Args, Output>): NodeHandle<Output> {
    return this.#adding(() => {
      const where = nodeCalled(this.#freeName(name))
      const shared = this.#shared(options, settings, where)
      const node = this.#add(name, options.args, shared)
      this.#previous = new Set([node])
      return node.handle as NodeHandle<Output>
    })
  }

  fanOut<Item, Args, Output>(items: Iterable<Item>, options: FanOutOptions<Item, Args, Output>): FanOut<Output> {
    return this.#adding(() => {
      const where = isJob(options?.job) ? `The fan-out to job ${JSON.stringify(options.job.name)}` : 'A fan-out'
      const shared = this.#shared(options, ['name', ...settings], where)
      const { name, args } = options
      if (typeof name !== 'function' || (args !== undefined && typeof args !== 'function')) {
        throw new InvalidGraphError(`${where}: \`name\` and \`args\` are functions of an item and its index.`)
      }
      if (typeof items?.[Symbol.iterator] !== 'function') {
        throw new InvalidGraphError(`${where}: its items must be a list, or something else to iterate over.`)
      }
      const nodes = Array.from(items, (item, index) =>
        this.#add(this.#freeName(name(item, index)), args?.(item, index), shared),
      )
      const fanOut = fanOutOf(nodes.map(node => node.handle))
      this.#previous = nodes.length === 0 ? shared.parents : new Set(nodes)
      this.#fanOuts.set(fanOut, this.#previous)
      return fanOut as FanOut<Output>
    })
  }

  close(): void {
    this.#closed = true
  }

  finish(): BuiltGraph {
    this.close()
    const nodes = this.#frozenNodes()
    const references = new Map(
      [...this.#byId.values()].filter(node => node.references.size > 0).map(node => [node.handle.id, node.references]),
    )
    checkStructure(nodes, references)
    const bytes = Buffer.byteLength(JSON.stringify(nodes))
    new GraphTally(this.#limits).add('bytes', bytes)
    return new BuiltGraph({ nodes, jobs: this.#jobs, bytes })
  }

  #adding<T>(add: () => T): T {
    if (this.#closed) {
      throw new InvalidGraphError('The graph has been built and takes no more nodes. Build another one.')
    }
    return inGraph(this.#limits.bytes, add)
  }

  #freeName(name: unknown): string {
    const mistake = mistakeInGraphName(name)
    if (mistake !== null) throw new InvalidGraphError(`The name of a node ${mistake}. Choose another.`)
    if (this.#byName.has(name as string)) {
      throw new InvalidGraphError(`There is a node named ${JSON.stringify(name)} already. Names are unique in a graph.`)
    }
    return name as string
  }

  #shared(options: unknown, known: readonly string[], where: string): Shared {
    if (!isPlainObject(options)) throw new InvalidGraphError(`${where}: the options must be an object with a \`job\`.`)
    refuseUnknownKeys(options as object, known, where)
    const { job, dependsOn, ...given } = options as Record<string, unknown>
    return {
      job: this.#knownJob(job, where),
      rules: storedRules(given, where),
      parents: dependsOn === undefined ? this.#previous : this.#parents(dependsOn, where),
    }
  }

  #knownJob(job: unknown, where: string): Job {
    if (!isJob(job)) {
      throw new InvalidGraphError(`${where}: its job is not what defineJob returned. Was it imported in a circle?`)
    }
    const namesake = this.#jobs.get(job.name)
    if (namesake !== undefined && namesake !== job) {
      throw new InvalidGraphError(`${where}: there are two jobs named ${JSON.stringify(job.name)}. Rename one.`)
    }
    this.#jobs.set(job.name, job)
    return job
  }

  #parents(dependsOn: unknown, where: string): Parents {
    if (dependsOn === null) return new Set()
    if (isFanOut(dependsOn)) return this.#nodesOf(dependsOn, where)
    const parents = new Set<DraftNode | string>()
    for (const one of Array.isArray(dependsOn) ? dependsOn : [dependsOn]) {
      for (const parent of isFanOut(one) ? this.#nodesOf(one, where) : [this.#parent(one, where)]) parents.add(parent)
    }
    return parents
  }

  #nodesOf(fanOut: FanOut, where: string): Parents {
    const nodes = this.#fanOuts.get(fanOut)
    if (nodes) return nodes
    throw new InvalidGraphError(`${where} depends on a fan-out of another graph.`)
  }

  #parent(dependency: unknown, where: string): DraftNode | string {
    if (typeof dependency === 'string') return this.#byName.get(dependency) ?? dependency
    const node = dependency instanceof NodeHandle ? this.#byId.get(dependency.id) : undefined
    if (node && node.handle === dependency) return node
    throw new InvalidGraphError(
      `${where}: \`dependsOn\` takes names, and what \`node\` and \`fanOut\` of this graph returned, one or several.`,
    )
  }

  #add(name: string, given: unknown, { job, rules, parents }: Shared): DraftNode {
    this.#tally.add('nodes', 1)
    this.#tally.add('edges', parents.size)
    const { json, bytes, references } = storableArgs(given, job, nodeCalled(name), this.#limits.bytes)
    this.#tally.add('bytes', bytes)
    const handle = new NodeHandle(this.#freeId(), name)
    const work = given === undefined ? { name, job: job.name } : { name, job: job.name, args: json }
    // Not spread: that is slow, and a graph may have a hundred thousand of these.
    const frozen = Object.assign(work, { depends_on: [] }, rules)
    const node = { handle, frozen, references, parents }
    this.#byName.set(name, node)
    this.#byId.set(handle.id, node)
    return node
  }

  #freeId(): string {
    const random = this.#random.pop()
    if (random !== undefined && !this.#byId.has(`n_${random}`)) return `n_${random}`
    this.#random.push(...(randomId(8 * 256).match(/.{16}/g) ?? []))
    return this.#freeId()
  }

  #frozenNodes(): FrozenNodes {
    const idsOf = new Map<Parents, readonly string[]>()
    const nodes: Record<string, FrozenNode> = {}
    for (const [id, { frozen, parents }] of this.#byId) {
      const ids = idsOf.get(parents) ?? this.#idsOf(parents, frozen.name)
      idsOf.set(parents, ids)
      frozen.depends_on = ids
      nodes[id] = frozen
    }
    return Object.freeze(nodes)
  }

  /** A name and the node that was meant by it may stand side by side where an empty fan-out stood for the name. */
  #idsOf(parents: Parents, child: string): readonly string[] {
    const ids = new Set<string>()
    for (const parent of parents) {
      const node = typeof parent === 'string' ? this.#byName.get(parent) : parent
      if (!node) {
        throw new InvalidGraphError(
          `${nodeCalled(child)} depends on ${JSON.stringify(parent)}, but the graph has no node of that name.`,
        )
      }
      ids.add(node.handle.id)
    }
    return [...ids]
  }
}

function storableArgs(args: unknown, job: Job, where: string, maxBytes: number): EncodedArgs {
  if (args !== undefined && !isPlainObject(args) && !(args instanceof OutputReference)) {
    throw new InvalidGraphError(`${where}: its args must be an object, like { userId: 5 }.`)
  }
  const encoded = encodeArgs((args ?? {}) as object, `${where}: its args`, maxBytes)
  if (encoded.references.size === 0) checkArgs(job, args ?? {}, where)
  return encoded
}

/** A first look, where the schema answers at once and all is there to be checked. The node checks again when it runs. */
function checkArgs({ name, argsSchema }: Job, args: unknown, where: string): void {
  const result = argsSchema?.['~standard'].validate(args)
  if (result instanceof Promise) result.catch(() => undefined)
  else if (result?.issues) {
    const list = result.issues.map(toInputIssue).map(({ path, message }) => (path ? `${path}: ${message}` : message))
    throw new InvalidGraphError(`${where}: its args are not what job ${name} takes: ${list.join('; ')}.`)
  }
}
