/**
 * The verbs of a graph that is being described: of the graph itself, or of a branch in it, which is a chain of its own.
 * Branches are described by functions, which run here and at once.
 */
import { InvalidGraphError } from '../errors.ts'
import { type FlowScope, joinSuffix } from './bind-branches.ts'
import { nodeCalled } from './check-structure.ts'
import type { Decided } from './decision.ts'
import { draftArgs, draftChild, draftCode, draftHuman, draftTest, draftTimeout, draftWait } from './draft-options.ts'
import type { FrozenNode } from './frozen-graph.ts'
import type * as builder from './graph-builder.ts'
import { graphDefaults, withDefaults } from './graph-defaults.ts'
import type { DraftNode, GraphDraft, Parents } from './graph-draft.ts'
import { isJob, type Job } from './job.ts'
import { joinRule } from './join-rule.ts'
import { type FanOut, fanOutOf, type NodeHandle } from './node-handle.ts'
import { longestNames } from './node-name.ts'
import { type StoredRules, storedRules } from './node-rules.ts'
import { refuseUnknownKeys } from './option-checks.ts'
import { checkCondition, outputsIn } from './stored-condition.ts'
import { isPlainObject } from './validate-input.ts'

type RawOptions = Readonly<Record<string, unknown>>

/** What the nodes of one call have in common. */
interface Shared {
  readonly options: RawOptions
  readonly rules: StoredRules & Pick<FrozenNode, 'compensation' | 'once' | 'if' | 'skip_if' | 'timeout_ms'>
  /** Names of the nodes whose outputs its expression asks for. */
  readonly asks: ReadonlySet<string>
  readonly parents: Parents
}

const place = ['dependsOn', 'alsoDependsOn', 'metadata']
const rules = ['wait', 'queue', 'priority', 'onException', ...place]
const tests = ['if', 'skipIf']
const work = ['job', 'args', 'retry', 'timeout', 'compensate', 'idempotent', 'reconcile', ...tests, ...rules]

export class DraftBranch implements builder.GraphBuilder {
  readonly #draft: GraphDraft
  readonly #scopeOf: (name: string) => FlowScope | null
  /** In a parallel nothing follows what was added before. */
  readonly #isChain: boolean
  #previous: Parents = new Set()
  #count = 0
  #closed: string | null = null

  constructor(draft: GraphDraft, scopeOf: (name: string) => FlowScope | null, isChain = true) {
    this.#draft = draft
    this.#scopeOf = scopeOf
    this.#isChain = isChain
  }

  defaults(options: builder.GraphDefaultOptions): void {
    this.#draft.adding(() => {
      if (!this.#draft.isEmpty) {
        throw new InvalidGraphError('The defaults of a graph come before its first node: they would not hold for it.')
      }
      this.#draft.defaults = { ...this.#draft.defaults, ...graphDefaults(options) }
    })
  }

  node<Args, Output>(name: string, options: builder.NodeOptions<Args, Output>): NodeHandle<Output> {
    return this.#adding(name, where => {
      const job = this.#jobIn(options, where)
      const shared = this.#work(options, work, where)
      return this.#followedBy(this.#addWork(name, options.args, job, shared)) as NodeHandle<Output>
    })
  }

  fanOut<Item, Args, Output>(
    items: Iterable<Item>,
    options: builder.FanOutOptions<Item, Args, Output>,
  ): FanOut<Output> {
    this.#refuseClosed()
    return this.#draft.adding(() => {
      const where = isJob(options?.job) ? `The fan-out to job ${JSON.stringify(options.job.name)}` : 'A fan-out'
      const job = this.#jobIn(options, where)
      const shared = this.#work(options, ['name', ...work], where)
      const { name, args } = options
      if (typeof name !== 'function' || (args !== undefined && typeof args !== 'function')) {
        throw new InvalidGraphError(`${where}: \`name\` and \`args\` are functions of an item and its index.`)
      }
      if (typeof items?.[Symbol.iterator] !== 'function') {
        throw new InvalidGraphError(`${where}: its items must be a list, or something else to iterate over.`)
      }
      const nodes = Array.from(items, (item, index) =>
        this.#addWork(this.#draft.freeName(name(item, index)), args?.(item, index), job, shared),
      )
      const fanOut = fanOutOf(nodes.map(node => node.handle))
      const standsFor = nodes.length === 0 ? shared.parents : new Set(nodes)
      if (this.#isChain) this.#previous = standsFor
      this.#draft.addFanOut(fanOut, standsFor)
      return fanOut as FanOut<Output>
    })
  }

  condition(name: string, test: string, branches: builder.GraphConditionBranches): NodeHandle<boolean> {
    return this.#adding(name, where => {
      checkCondition(test)
      const { rules: stored, parents, options } = this.#shared(branches, ['then', 'else', 'args', ...rules], where)
      const { then: taken, else: otherwise, args } = options
      if (taken === undefined && otherwise === undefined) {
        throw new InvalidGraphError(`${where}: it has no branch. Give it \`then\`, \`else\` or both.`)
      }
      const { json, references } = draftArgs(this.#draft, args, where)
      const node = this.#draft.add({
        frozen: {
          name,
          kind: 'condition',
          test,
          ...(args === undefined ? {} : { args: json }),
          depends_on: [],
          ...stored,
        },
        references,
        asks: outputsIn(test) ?? new Set(),
        parents,
        scope: this.#take(name),
      })
      for (const [branch, describe] of Object.entries({ then: taken, else: otherwise })) {
        if (describe !== undefined) this.#describe(node, branch, describe)
      }
      return this.#followedBy(node) as NodeHandle<boolean>
    })
  }

  fork(
    name: string,
    branches: Readonly<Record<string, builder.DescribeGraphBranch>>,
    options: builder.GraphForkOptions = {},
  ): NodeHandle {
    return this.#adding(name, where => {
      if (!isPlainObject(branches)) {
        throw new InvalidGraphError(`${where}: its branches are an object, like { goods: b => ..., papers: b => ... }.`)
      }
      const entries = Object.entries(branches)
      const node = this.#fork(name, options, where)
      for (const [branch, describe] of entries) this.#describe(node, branch, describe)
      return this.#joined(node, options.join, entries.length)
    })
  }

  parallel(name: string, members: builder.DescribeGraphBranch, options: builder.GraphForkOptions = {}): NodeHandle {
    return this.#adding(name, where => {
      const node = this.#fork(name, options, where)
      const { id } = node.handle
      const branch = new DraftBranch(this.#draft, member => ({ opener: id, name: member }), false)
      branch.#described(members, where)
      return this.#joined(node, options.join, branch.#count)
    })
  }

  join(name: string, options: builder.GraphJoinOptions): NodeHandle {
    return this.#adding(name, where => {
      const { rules: stored, parents } = this.#shared(options, ['rule', 'dependsOn', 'metadata'], where)
      if (options.dependsOn === undefined || parents.size === 0) {
        throw new InvalidGraphError(`${where}: a join must say what comes together: { dependsOn: [...] }.`)
      }
      const frozen = { name, kind: 'join', depends_on: [], ...stored } as const
      const rule = joinRule(options.rule, parents.size, where)
      return this.#followedBy(this.#draft.add({ frozen: { ...frozen }, parents, scope: this.#take(name), rule }))
    })
  }

  savePoint(name: string, options: builder.PlaceSettings = {}): NodeHandle {
    return this.#adding(name, where => {
      const scope = this.#take(name)
      if (scope !== null) {
        throw new InvalidGraphError(`${where}: a save point cannot stand in a branch. Put it before or behind.`)
      }
      const { rules: stored, parents } = this.#shared(options, place, where)
      return this.#followedBy(
        this.#draft.add({ frozen: { name, kind: 'savePoint', depends_on: [], ...stored }, parents, scope }),
      )
    })
  }

  child(name: string, options: object): NodeHandle<builder.EndedChild> {
    return this.#adding(name, where => {
      const own = ['workflow', 'hero', 'input', 'workflowId', 'timeout', 'retry', 'compensate']
      const shared = this.#shared(options, [...own, ...tests, ...rules], where)
      const { frozen, references } = draftChild(this.#draft, shared.options, where)
      const { asks, parents } = shared
      const node = { name, kind: 'child', ...frozen, depends_on: [], ...shared.rules } as const
      return this.#followedBy(
        this.#draft.add({ frozen: { ...node }, references, asks, parents, scope: this.#take(name) }),
      ) as NodeHandle<builder.EndedChild>
    })
  }

  human<Data = unknown>(name: string, options: builder.GraphHumanOptions<Data> = {}): NodeHandle<Decided<Data>> {
    return this.#adding(name, where => {
      const own = ['prompt', 'form', 'assignTo', 'quorum', 'deadline', 'escalate', 'onReject']
      const shared = this.#shared(options, [...own, 'compensate', ...tests, ...rules], where)
      const waits = draftHuman(this.#draft, shared.options, where)
      return this.#waiting(name, 'human', shared, waits) as NodeHandle<Decided<Data>>
    })
  }

  waitFor<Payload = unknown>(name: string, options: builder.GraphWaitForOptions<Payload> = {}): NodeHandle<Payload> {
    return this.#adding(name, where => {
      const shared = this.#shared(options, ['payload', 'timeout', 'onTimeout', 'compensate', ...tests, ...rules], where)
      return this.#waiting(name, 'signal', shared, draftWait(this.#draft, shared.options, where)) as NodeHandle<Payload>
    })
  }

  #waiting(name: string, kind: 'human' | 'signal', shared: Shared, waits: Partial<FrozenNode>): NodeHandle {
    const { asks, parents } = shared
    const frozen = { name, kind, depends_on: [], ...shared.rules, ...waits }
    return this.#followedBy(this.#draft.add({ frozen, asks, parents, scope: this.#take(name) }))
  }

  #fork(name: string, options: unknown, where: string): DraftNode {
    if (name.length > longestNames.fork) {
      throw new InvalidGraphError(`${where}: its name is longer than ${longestNames.fork} characters. Choose another.`)
    }
    const { rules: stored, parents } = this.#shared(options, ['join', ...place], where)
    const frozen = { name, kind: 'fork', depends_on: [], ...stored } as const
    return this.#draft.add({ frozen: { ...frozen }, parents, scope: this.#take(name) })
  }

  /** The join of a fork stands beside it and belongs to it. */
  #joined(fork: DraftNode, join: unknown, count: number): NodeHandle {
    const { name } = fork.frozen
    const where = nodeCalled(name)
    if (count < 2) {
      const has = count === 0 ? 'no branch' : 'one branch'
      throw new InvalidGraphError(`${where}: it has ${has}. A fork needs at least two.`)
    }
    if (join !== false) {
      const frozen = { name: name + joinSuffix, kind: 'join', depends_on: [] } as const
      const rule = joinRule(join, count, where)
      this.#draft.add({ frozen: { ...frozen }, parents: new Set(), scope: fork.scope, rule, joins: fork })
    }
    return this.#followedBy(fork)
  }

  #describe(opener: DraftNode, name: string, describe: unknown): void {
    const scope = Object.freeze({ opener: opener.handle.id, name })
    const where = `Branch ${name} of node ${JSON.stringify(opener.frozen.name)}`
    const branch = new DraftBranch(this.#draft, () => scope)
    branch.#described(describe, where)
    if (branch.#count === 0) throw new InvalidGraphError(`${where} is empty. Add to what the function receives.`)
  }

  #described(describe: unknown, where: string): void {
    if (typeof describe !== 'function')
      throw new InvalidGraphError(`${where}: it must be a function, like b => b.node(...).`)
    const returned: unknown = describe(this)
    this.#closed = where
    if (typeof (returned as PromiseLike<unknown> | undefined)?.then !== 'function') return
    Promise.resolve(returned).catch(() => undefined)
    throw new InvalidGraphError(`${where}: its function returned a promise. Branches are described at once.`)
  }

  #adding<T>(name: string, add: (where: string) => T): T {
    this.#refuseClosed()
    return this.#draft.adding(() => add(nodeCalled(this.#draft.freeName(name))))
  }

  #refuseClosed(): void {
    if (this.#closed === null) return
    throw new InvalidGraphError(`${this.#closed}: it has been described, and takes no more nodes.`)
  }

  #jobIn(options: unknown, where: string): Job {
    if (!isPlainObject(options)) throw new InvalidGraphError(`${where}: the options must be an object with a \`job\`.`)
    return this.#draft.knownJob((options as RawOptions).job, where)
  }

  #shared(options: unknown, known: readonly string[], where: string): Shared {
    if (!isPlainObject(options)) throw new InvalidGraphError(`${where}: the options must be an object.`)
    refuseUnknownKeys(options as object, known, where)
    const given = withDefaults(options as RawOptions, this.#draft.defaults, known)
    const { test, asks } = draftTest(given, where)
    return {
      options: given,
      rules: { ...storedRules(given, where), ...test, ...draftCode(this.#draft, given, where) },
      asks,
      parents: this.#parentsIn(given, where),
    }
  }

  #parentsIn({ dependsOn, alsoDependsOn }: RawOptions, where: string): Parents {
    const parents = dependsOn === undefined ? this.#previous : this.#draft.parents(dependsOn, where)
    if (alsoDependsOn === undefined) return parents
    return new Set([...parents, ...this.#draft.parents(alsoDependsOn, where, 'alsoDependsOn')])
  }

  /** The same for nodes with a job. That of others is something else. */
  #work(options: unknown, known: readonly string[], where: string): Shared {
    const shared = this.#shared(options, known, where)
    return { ...shared, rules: { ...shared.rules, ...draftTimeout(shared.options, where) } }
  }

  #addWork(name: string, given: unknown, job: Job, { rules, asks, parents }: Shared): DraftNode {
    const { json, references } = draftArgs(this.#draft, given, nodeCalled(name), job)
    const code = job.resumable === null ? { name, job: job.name } : { name, job: job.name, kind: 'resumable' as const }
    const frozen = given === undefined ? code : Object.assign(code, { args: json })
    // Not spread: that is slow, and a graph may have a hundred thousand of these.
    return this.#draft.add({
      frozen: Object.assign(frozen, { depends_on: [] }, rules),
      references,
      asks,
      parents,
      scope: this.#take(name),
    })
  }

  /** The branch of a node that is added now. */
  #take(name: string): FlowScope | null {
    this.#count++
    return this.#scopeOf(name)
  }

  #followedBy(node: DraftNode): NodeHandle {
    if (this.#isChain) this.#previous = new Set([node])
    return node.handle
  }
}
