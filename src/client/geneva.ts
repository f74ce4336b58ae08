/**
 * The entry to everything: one instance per process and database. It opens the database when it is first used.
 */

import { buildGraph } from '../definition/build-graph.ts'
import { BuiltGraph } from '../definition/built-graph.ts'
import type { FrozenGraph } from '../definition/frozen-graph.ts'
import type { GraphBuilder } from '../definition/graph-builder.ts'
import { defaultGraphLimits, type GraphLimits } from '../definition/graph-limits.ts'
import { identifyHero } from '../definition/identify-hero.ts'
import type { Job } from '../definition/job.ts'
import { JobRegistry } from '../definition/job-registry.ts'
import { parseFrozenGraph } from '../definition/parse-frozen-graph.ts'
import { Registry } from '../definition/registry.ts'
import type { StartsAlone, StartWhat } from '../definition/start-types.ts'
import { expandTemplate, isTemplate, type Template } from '../definition/template.ts'
import type { AnyWorkflow, ConcreteClass, WorkflowClass } from '../definition/workflow.ts'
import { type CheckReport, checkDeploy } from '../engine/check-deploy.ts'
import { typesOf } from '../engine/courses.ts'
import { Engine } from '../engine/engine.ts'
import { rerunOrder } from '../engine/rerun.ts'
import { type GraphStart, graphOrder } from '../engine/start-graphs.ts'
import type { StartOptions } from '../engine/start-orders.ts'
import { exportDag, freezeWorkflow, replaceGraph } from '../engine/stored-graphs.ts'
import type { HistoryFlaw } from '../engine/verify-history.ts'
import { ClosedError, InvalidArgumentError, WorkflowNotFoundError } from '../errors.ts'
import { type Duration, toMilliseconds } from '../primitives/duration.ts'
import type { DatabaseOptions } from '../store/database-options.ts'
import { hasOneWriter, openerFor } from '../store/open-store.ts'
import type { Store, WorkflowSnapshot } from '../store/store.ts'
import { ErrorListener, type OnError } from '../worker/error-listener.ts'
import { type DrainOptions, Worker } from '../worker/worker.ts'
import { type WorkerOptions, workerSettings } from '../worker/worker-options.ts'
import type { NodeWithState } from './nodes-with-state.ts'
import { type RequestOptions, type ResolveOptions, requestFrom, resolutionFrom } from './request-options.ts'
import { Starter } from './starter.ts'
import { Waiters } from './waiters.ts'
import { type HandleParts, WorkflowHandle } from './workflow-handle.ts'
import { filterFrom, type ListOptions, readPage, type WorkflowPage } from './workflow-list.ts'

export interface GenevaOptions {
  /** `sqlite:app.db`, `postgres://...`, `mysql://...`, or the same with options. */
  readonly database: string | DatabaseOptions
  readonly workflows?: readonly WorkflowClass<any>[]
  /** Code for the nodes of graphs that are built at run time. */
  readonly jobs?: readonly Job[]
  /** Graphs that are described once, under a name. */
  readonly templates?: readonly Template[]
  /** Bring the tables up to date on first use. Default true; with false, run `geneva migrate` before. */
  readonly migrate?: boolean
  /** Gets every error of a step, hook, condition or hero load, after it was recorded. Default: writes to the console. */
  readonly onError?: OnError
  readonly limits?: {
    readonly inputBytes?: number
    readonly outputBytes?: number
    /** How large a graph that is built at run time may be. */
    readonly graphNodes?: number
    readonly graphEdges?: number
    readonly graphBytes?: number
  }
}

export interface ImportOptions extends RequestOptions {
  /** A paused workflow whose own graph is replaced. */
  readonly into?: string
}

interface Opened {
  readonly engine: Engine
  readonly starter: Starter
  readonly waiters: Waiters
  /** Throws once this instance is closed. */
  forHandles(): HandleParts
}

const defaultBytes = 1024 * 1024

export class Geneva {
  readonly #options: GenevaOptions
  readonly #database: DatabaseOptions
  readonly #registry: Registry
  readonly #jobs: JobRegistry
  readonly #onError: ErrorListener
  readonly #workers = new Set<Worker>()
  #opened: Promise<Opened> | null = null
  #ready = false
  #closed = false

  constructor(options: GenevaOptions) {
    this.#options = options
    this.#database = typeof options.database === 'string' ? { url: options.database } : options.database
    openerFor(this.#database?.url)
    checkLimits(options.limits)
    if (options.workflows !== undefined && !Array.isArray(options.workflows)) {
      throw new InvalidArgumentError('The `workflows` of a Geneva must be an array of workflow classes.')
    }
    this.#registry = new Registry(options.workflows ?? [])
    this.#jobs = new JobRegistry(options.jobs ?? [], options.templates ?? [])
    for (const warning of this.#registry.warnings) process.emitWarning(warning, 'GenevaWarning')
    this.#onError = new ErrorListener(options.onError ?? writeToConsole)
  }

  /** Starts a workflow. Durable when it returns; inside a `transaction`, when that commits. */
  async start<W extends AnyWorkflow>(workflow: ConcreteClass<W> & StartsAlone<W>): Promise<WorkflowHandle<W>>
  async start<W extends AnyWorkflow>(
    workflow: ConcreteClass<W>,
    what: StartWhat<W>,
    options?: StartOptions,
  ): Promise<WorkflowHandle<W>>
  async start(
    workflow: ConcreteClass<any>,
    what: object = {},
    options: StartOptions = {},
  ): Promise<WorkflowHandle<any>> {
    const definition = this.#registry.definitionFor(workflow)
    const opened = await this.#openFor(options)
    const started = await opened.starter.start(definition, what, options)
    return this.#wrap(opened, { workflow: started, performing: false })
  }

  /** Starts many of one class in one transaction: all, or none if one is in conflict. */
  async startMany<W extends AnyWorkflow>(
    workflow: ConcreteClass<W>,
    whats: readonly StartWhat<W>[],
    options: Omit<StartOptions, 'idempotencyKey'> = {},
  ): Promise<WorkflowHandle<W>[]> {
    const definition = this.#registry.definitionFor(workflow)
    const opened = await this.#openFor(options)
    const workflows = await opened.starter.startMany(definition, whats, options)
    return workflows.map(workflow => this.#wrap(opened, { workflow, performing: false }))
  }

  /** Describes a graph in code, or fills in a template. Nothing is stored before it is started. */
  build(describe: (w: GraphBuilder) => void): BuiltGraph
  build<Args extends object>(template: Template<Args>, args: Args): BuiltGraph
  build(describe: ((w: GraphBuilder) => void) | Template, args?: object): BuiltGraph {
    return isTemplate(describe)
      ? expandTemplate(describe, args ?? {}, this.#graphLimits)
      : buildGraph(describe, this.#graphLimits)
  }

  /** Starts a workflow that goes by this graph, which is stored with it. Durable when it returns; inside a `transaction`, when that commits. */
  async startGraph(
    graph: BuiltGraph | FrozenGraph,
    what: GraphStart = {},
    options: StartOptions = {},
  ): Promise<WorkflowHandle<any>> {
    const opened = await this.#openFor(options)
    const frozen = graph instanceof BuiltGraph ? graph : this.#parse(graph)
    const maxInputBytes = this.#options.limits?.inputBytes ?? defaultBytes
    const { order, prepared } = await graphOrder(opened.engine, frozen, { what, options, maxInputBytes })
    const workflow = await opened.starter.startPrepared(order, prepared, options.transaction)
    return this.#wrap(opened, { workflow, performing: false })
  }

  /** The graph of a workflow as JSON, to look at or to edit. */
  async exportDag(id: string): Promise<FrozenGraph> {
    return exportDag((await this.#open()).engine, id)
  }

  /**
   * Reads a graph from JSON and checks it like a new one. With `into` it takes the place of the graph of a paused workflow
   * that has one of its own: nodes that have started must stay.
   */
  async importDag(json: string | object, options: ImportOptions = {}): Promise<FrozenGraph> {
    const { engine } = await this.#open()
    const { into, ...request } = options
    const graph = this.#parse(json, into === undefined ? null : (await engine.find(into)).type)
    if (into !== undefined) await replaceGraph(engine, into, graph, requestFrom(request))
    return graph
  }

  /** Stores the graph of a class workflow with it: from now on it goes by that, whatever the class says. */
  async freeze(id: string, options?: RequestOptions): Promise<FrozenGraph> {
    return freezeWorkflow((await this.#open()).engine, id, requestFrom(options))
  }

  /** By id; or the workflow of a hero: the active one, else the one started last. */
  async find(id: string): Promise<WorkflowHandle | null>
  async find<W extends AnyWorkflow>(
    workflow: ConcreteClass<W>,
    which: string | { readonly hero: StartWhat<W>['hero'] },
  ): Promise<WorkflowHandle<W> | null>
  async find(
    first: string | ConcreteClass<any>,
    which?: string | { hero?: unknown },
  ): Promise<WorkflowHandle<any> | null> {
    const definition = typeof first === 'function' ? this.#registry.definitionFor(first) : null
    const opened = await this.#open()
    const { store } = opened.engine
    if (definition && typeof which === 'object' && which !== null) {
      const found = await store.findByHero(typesOf(definition), identifyHero(definition, which.hero))
      return found && this.#wrap(opened, found)
    }
    const id = definition ? which : first
    const found = typeof id === 'string' && store.isId(id) ? await store.findWorkflow(id) : null
    const wanted = found && (definition === null || typesOf(definition).includes(found.workflow.type))
    return wanted ? this.#wrap(opened, found) : null
  }

  /** Workflows by state, hero, step or tag, newest first, a page at a time. */
  async list(options?: ListOptions): Promise<WorkflowPage<AnyWorkflow>>
  async list<W extends AnyWorkflow>(workflow: ConcreteClass<W>, options?: ListOptions<W>): Promise<WorkflowPage<W>>
  async list(first?: ConcreteClass<any> | ListOptions, second?: ListOptions<any>): Promise<WorkflowPage<any>> {
    const definition = typeof first === 'function' ? this.#registry.definitionFor(first) : null
    const opened = await this.#open()
    const options = (typeof first === 'function' ? second : first) ?? {}
    const filter = filterFrom(opened.engine.store, definition, options)
    return readPage(
      () => opened.forHandles().engine.store,
      filter,
      snapshot => this.#wrap(opened, snapshot),
    )
  }

  async pause(id: string, options?: RequestOptions): Promise<void> {
    await (await this.#open()).engine.pause(id, requestFrom(options))
  }

  async resume(id: string, options?: RequestOptions): Promise<void> {
    await (await this.#open()).engine.resume(id, requestFrom(options))
  }

  async cancel(id: string, options?: RequestOptions): Promise<void> {
    await (await this.#open()).engine.cancel(id, requestFrom(options))
  }

  async skip(id: string, step: string, options?: RequestOptions): Promise<void> {
    await (await this.#open()).engine.skip(id, step, requestFrom(options))
  }

  /** Takes a step as done: somebody has done by hand what it was to do. What depends on it goes on. */
  async resolve(id: string, step: string, options?: ResolveOptions): Promise<void> {
    await (await this.#open()).engine.resolve(id, resolutionFrom(step, options))
  }

  /** A new attempt at a step that has failed, while nothing that comes after it has started. */
  async reattempt(id: string, step: string, options?: RequestOptions): Promise<void> {
    await (await this.#open()).engine.reattempt(id, step, requestFrom(options))
  }

  /** A new workflow that takes over what was done before `from`, outputs included, and runs the rest again. */
  async rerun(id: string, options: { readonly from: string | readonly string[] }): Promise<WorkflowHandle<any>> {
    const opened = await this.#open()
    const from = options?.from === undefined ? [] : [options.from].flat()
    const order = await rerunOrder(opened.engine, id, from)
    return this.#wrap(opened, { workflow: await opened.starter.startOrder(order), performing: false })
  }

  /** What deploying this code would do to workflows that run. Writes nothing, and makes the code known to nobody. */
  async check(): Promise<CheckReport> {
    if (this.#closed) throw new ClosedError()
    const store = await openerFor(this.#database.url)(this.#database)
    try {
      await store.checkSchema()
      return await checkDeploy(store, this.#registry)
    } finally {
      await store.close()
    }
  }

  /** Every node of a workflow's graph with the state of its latest attempt. */
  async nodesWithState(id: string): Promise<NodeWithState[]> {
    return (await this.#handle(id)).nodesWithState()
  }

  /** Recomputes the ancestry of every execution of a workflow. `null`, or the first one that does not fit. */
  async verifyHistory(id: string): Promise<HistoryFlaw | null> {
    return (await this.#handle(id)).verifyHistory()
  }

  /** Works until SIGTERM, SIGINT or `close()`; then lets running steps end within the grace time. */
  async work(options?: WorkerOptions & { readonly handleSignals?: boolean }): Promise<void> {
    const told = new AbortController()
    const tell = () => told.abort()
    const signals = options?.handleSignals === false ? [] : (['SIGTERM', 'SIGINT'] as const)
    // Listens before anything is waited for: the signal may come while the worker begins.
    for (const signal of signals) process.once(signal, tell)
    try {
      const worker = await this.#makeWorker(options)
      const stop = () => void worker.stop().catch(error => this.#onError.report(error, null))
      told.signal.addEventListener('abort', stop)
      if (told.signal.aborted) stop()
      else await worker.start()
      await worker.stopped
    } finally {
      for (const signal of signals) process.off(signal, tell)
    }
  }

  /** A worker in this process that the caller stops itself, or `close()` does. */
  async startWorker(options?: WorkerOptions): Promise<Worker> {
    const worker = await this.#makeWorker(options)
    await worker.start()
    return worker
  }

  /** Works off what is due and returns how many executions it claimed: for cron and serverless hosts. */
  async runDue(
    options: WorkerOptions & { readonly maxMs?: Duration } & Omit<DrainOptions, 'maxMs'> = {},
  ): Promise<number> {
    const worker = await this.#makeWorker(options)
    const { workflowId, maxSteps, maxItems, maxMs } = options
    return worker.drain({
      ...(workflowId === undefined ? {} : { workflowId }),
      ...(maxSteps === undefined ? {} : { maxSteps }),
      ...(maxItems === undefined ? {} : { maxItems }),
      ...(maxMs === undefined ? {} : { maxMs: toMilliseconds(maxMs, 'maxMs') }),
    })
  }

  /** Opens the database and brings its tables up to date. Not needed before other calls, which do the same. */
  async migrate(): Promise<void> {
    await this.#open()
  }

  /** Stops the workers of this instance in good order and closes its connections. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await Promise.all([...this.#workers].map(worker => worker.stop()))
    const opened = await this.#opened?.catch(() => null)
    opened?.waiters.close()
    await opened?.engine.store.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** For the test kit. */
  async openedStore(): Promise<Store> {
    return (await this.#open()).engine.store
  }

  get #graphLimits(): GraphLimits {
    const { graphNodes, graphEdges, graphBytes } = this.#options.limits ?? {}
    const { nodes, edges, bytes } = defaultGraphLimits
    return { nodes: graphNodes ?? nodes, edges: graphEdges ?? edges, bytes: graphBytes ?? bytes }
  }

  /** Methods may stand in a graph only where it belongs to a class. */
  #parse(json: string | object, type: string | null = null): FrozenGraph {
    const definition = type === null || type === '' ? null : this.#registry.definitionFor(type)
    return parseFrozenGraph(json, {
      limits: this.#graphLimits,
      knowsJob: name => this.#jobs.find(name) !== null,
      knowsMethod: name => definition?.nodeIndex.has(name) === true,
    })
  }

  async #handle(id: string): Promise<WorkflowHandle<any>> {
    const found = await this.find(id)
    if (found === null) throw new WorkflowNotFoundError(id)
    return found
  }

  async #makeWorker(options: WorkerOptions = {}): Promise<Worker> {
    const settings = workerSettings(options)
    const { engine } = await this.#open()
    // Closed meanwhile: nobody would stop this worker any more.
    if (this.#closed) throw new ClosedError()
    const maxOutputBytes = this.#options.limits?.outputBytes ?? defaultBytes
    const worker = new Worker({ engine, settings, onError: this.#onError, maxOutputBytes })
    this.#workers.add(worker)
    void worker.stopped.then(() => this.#workers.delete(worker))
    return worker
  }

  /** Opening may have to write, and would then wait for a transaction that waits for it. */
  #openFor(options: StartOptions | null): Promise<Opened> {
    if (options?.transaction === undefined || this.#ready || this.#closed || !hasOneWriter(this.#database.url))
      return this.#open()
    throw new InvalidArgumentError(
      'The database must be open before the transaction begins: `await geneva.migrate()` when the application starts.',
    )
  }

  #open(): Promise<Opened> {
    if (this.#closed) return Promise.reject(new ClosedError())
    this.#opened ??= this.#openDatabase().catch(error => {
      this.#opened = null
      throw error
    })
    return this.#opened
  }

  async #openDatabase(): Promise<Opened> {
    const store = await openerFor(this.#database.url)(this.#database)
    try {
      await (this.#options.migrate === false ? store.checkSchema() : store.migrate())
      const engine = new Engine(store, this.#registry, this.#jobs)
      await engine.register()
      const starter = new Starter(engine, this.#options.limits?.inputBytes ?? defaultBytes)
      const parts = { engine, waiters: new Waiters(engine) }
      this.#ready = true
      return { ...parts, starter, forHandles: () => this.#whileOpen(parts) }
    } catch (error) {
      await store.close()
      throw error
    }
  }

  /** A handle may outlive this instance, but not its connections. */
  #whileOpen<T>(parts: T): T {
    if (this.#closed) throw new ClosedError()
    return parts
  }

  #wrap(opened: Opened, snapshot: WorkflowSnapshot): WorkflowHandle<any> {
    return new WorkflowHandle(opened.forHandles, snapshot)
  }
}

function checkLimits(limits: GenevaOptions['limits']): void {
  for (const [name, bytes] of Object.entries(limits ?? {})) {
    if (bytes === undefined || (Number.isSafeInteger(bytes) && bytes > 0)) continue
    throw new InvalidArgumentError(`The limit ${name} must be a whole number of bytes above 0, not ${String(bytes)}.`)
  }
}

function writeToConsole(error: unknown, context: Parameters<OnError>[1]): void {
  const where = context ? `step ${context.step} of ${context.workflow} ${context.workflowId}` : 'worker'
  console.error(`[geneva-drive] ${where}:`, error)
}
