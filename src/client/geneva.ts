/**
 * The entry to everything: one instance per process and database. It opens the database when it is first used.
 */

import { buildGraph } from '../definition/build-graph.ts'
import { BuiltGraph } from '../definition/built-graph.ts'
import type { FrozenGraph } from '../definition/frozen-graph.ts'
import type { GraphBuilder } from '../definition/graph-builder.ts'
import type { HeroRef } from '../definition/hero.ts'
import type { StartsAlone, StartWhat } from '../definition/start-types.ts'
import { expandTemplate, isTemplate, type Template } from '../definition/template.ts'
import type { AnyWorkflow, ConcreteClass } from '../definition/workflow.ts'
import type { DrawOptions } from '../drawing/draw-graph.ts'
import { type CheckReport, checkDeploy } from '../engine/check-deploy.ts'
import type { Engine } from '../engine/engine.ts'
import { type Explanation, explainWorkflow } from '../engine/explain-workflows.ts'
import { rerunOrder } from '../engine/rerun.ts'
import { type GraphStart, graphOrder } from '../engine/start-graphs.ts'
import type { StartOptions } from '../engine/start-orders.ts'
import { exportDag, freezeWorkflow, replaceGraph } from '../engine/stored-graphs.ts'
import type { HistoryFlaw } from '../engine/verify-history.ts'
import { ClosedError, WorkflowNotFoundError } from '../errors.ts'
import { EventBus } from '../observe/event-bus.ts'
import type { EventName, EventOfType } from '../observe/events.ts'
import { type DoctorOptions, type DoctorReport, examine } from '../observe/examine.ts'
import { type Listen, subscribe, type Wanted } from '../observe/subscribe.ts'
import { type EventsOptions, tailEvents } from '../observe/tail-events.ts'
import { metricsPage } from '../observe/telemetry/telemetry.ts'
import { refuseUnknownOptions } from '../primitives/refuse-unknown-options.ts'
import type { Store } from '../store/store.ts'
import type { Dispatcher, DispatcherOptions } from '../worker/dispatcher.ts'
import { ErrorListener } from '../worker/error-listener.ts'
import { Worker } from '../worker/worker.ts'
import { type WorkerOptions, workerSettings } from '../worker/worker-options.ts'
import { Bulk, type BulkFilter } from './bulk.ts'
import { Connection, type GenevaOptions } from './connection.ts'
import { drawWhat } from './draw-what.ts'
import { type ExplainFilter, explainMany } from './explain-many.ts'
import { type FetchHandler, type HandlerOptions, lazyHandler } from './handler-options.ts'
import { type Health, health } from './health.ts'
import type { NodeWithState } from './nodes-with-state.ts'
import { Queues } from './queues.ts'
import { type ImportOptions, type RequestOptions, requestFrom } from './request-options.ts'
import { type PruneOptions, type PruneReport, prune } from './retention.ts'
import { Schedules } from './schedules.ts'
import { Schema } from './schema.ts'
import { type NamedStart, type NamedStartOptions, whatFromNames } from './start-by-name.ts'
import { startDispatcher } from './start-dispatcher.ts'
import { type Stats, type StatsOptions, stats } from './stats.ts'
import { Steering } from './steering.ts'
import { type StuckOptions, type StuckWork, stuck } from './stuck.ts'
import { Views } from './views/views.ts'
import {
  drainOptionsFrom,
  knownOfDrain,
  type RunDueOptions,
  type WorkOptions,
  workUntilTold,
} from './work-until-told.ts'
import type { WorkflowHandle } from './workflow-handle.ts'
import {
  filterFrom,
  findOne,
  type ListAnyOptions,
  type ListOptions,
  readPage,
  type WorkflowPage,
} from './workflow-list.ts'

export class Geneva extends Steering {
  readonly #connection: Connection
  readonly #onError: ErrorListener
  readonly #bus: EventBus
  readonly #workers = new Set<Worker>()
  readonly #dispatchers = new Set<Dispatcher>()
  /** Schedules as the database knows them: list, pause, resume, start one now, remove. */
  readonly schedules: Schedules = new Schedules(() => this.#connection.open())

  /** Queues as the database knows them: list, pause, resume, other limits. */
  readonly queues: Queues = new Queues(() => this.#connection.open())

  /** The tables: which version they are at, and bringing them up to date, also with `migrate: false`. */
  readonly schema: Schema = new Schema((work, aim) => this.#connection.withBareStore(work, aim))

  /** What people look at, by ids and names, as plain data: lists, one workflow, approvals, the overview. */
  readonly views: Views = new Views(() => this.#connection.open(), this.queues)

  constructor(options: GenevaOptions) {
    super()
    this.#connection = new Connection(options, store => this.#bus.attach(store))
    const { telemetry } = this.#connection
    this.#onError = new ErrorListener(options.onError ?? null, telemetry?.errorLog)
    this.#bus = new EventBus(this.#onError)
    if (telemetry !== null) this.#bus.onCommit(telemetry.heard)
    for (const warning of this.#connection.registry.warnings) process.emitWarning(warning, 'GenevaWarning')
  }

  protected async engine(): Promise<Engine> {
    return (await this.#connection.open()).engine
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
    const definition = this.#connection.registry.definitionFor(workflow)
    const opened = await this.#connection.openFor(options)
    const started = await opened.starter.start(definition, what, options)
    return opened.wrap({ workflow: started, performing: false })
  }

  /** Starts a workflow by the stored name of its class, for tools that have no classes at hand. */
  async startByName(
    type: string,
    what: NamedStart = {},
    options: NamedStartOptions = {},
  ): Promise<WorkflowHandle<any>> {
    const definition = this.#connection.registry.definitionFor(type)
    const opened = await this.#connection.open()
    const given = await whatFromNames(opened.engine.store, definition, what)
    return opened.wrap({ workflow: await opened.starter.start(definition, given, options), performing: false })
  }

  /** Starts many of one class in one transaction: all, or none if one is in conflict. */
  async startMany<W extends AnyWorkflow>(
    workflow: ConcreteClass<W>,
    whats: readonly StartWhat<W>[],
    options: Omit<StartOptions, 'idempotencyKey'> = {},
  ): Promise<WorkflowHandle<W>[]> {
    const definition = this.#connection.registry.definitionFor(workflow)
    const opened = await this.#connection.openFor(options)
    const workflows = await opened.starter.startMany(definition, whats, options)
    return workflows.map(workflow => opened.wrap({ workflow, performing: false }))
  }

  /** Describes a graph in code, or fills in a template. Nothing is stored before it is started. */
  build(describe: (w: GraphBuilder) => void): BuiltGraph
  build<Args extends object>(template: Template<Args>, args: Args): BuiltGraph
  build(describe: ((w: GraphBuilder) => void) | Template, args?: object): BuiltGraph {
    return isTemplate(describe)
      ? expandTemplate(describe, args ?? {}, this.#connection.graphLimits)
      : buildGraph(describe, this.#connection.graphLimits)
  }

  /** Starts a workflow that goes by this graph, which is stored with it. Durable when it returns; inside a `transaction`, when that commits. */
  async startGraph(
    graph: BuiltGraph | FrozenGraph,
    what: GraphStart = {},
    options: StartOptions = {},
  ): Promise<WorkflowHandle<any>> {
    const opened = await this.#connection.openFor(options)
    const frozen = graph instanceof BuiltGraph ? graph : this.#connection.parseGraph(graph)
    const { maxInputBytes } = this.#connection
    const { order, prepared } = await graphOrder(opened.engine, frozen, { what, options, maxInputBytes })
    const workflow = await opened.starter.startPrepared(order, prepared, options.transaction)
    return opened.wrap({ workflow, performing: false })
  }

  /** The graph of a workflow as JSON, to look at or to edit. */
  async exportDag(id: string): Promise<FrozenGraph> {
    return exportDag((await this.#connection.open()).engine, id)
  }

  /**
   * Reads a graph from JSON and checks it like a new one. With `into` it takes the place of the graph of a paused workflow
   * that has one of its own: nodes that have started must stay.
   */
  async importDag(json: string | object, options: ImportOptions = {}): Promise<FrozenGraph> {
    const request = requestFrom(options, ['into'])
    const { into } = options
    const { engine } = await this.#connection.open()
    const graph = this.#connection.parseGraph(json, into === undefined ? null : (await engine.find(into)).type)
    if (into !== undefined) await replaceGraph(engine, into, graph, request)
    return graph
  }

  /** Stores the graph of a class workflow with it: from now on it goes by that, whatever the class says. */
  async freeze(id: string, options?: RequestOptions): Promise<FrozenGraph> {
    return freezeWorkflow((await this.#connection.open()).engine, id, requestFrom(options))
  }

  /** By id; or the workflow of a hero, of one class or of any: the active one, else the one started last. */
  async find(which: string | { readonly hero: HeroRef }): Promise<WorkflowHandle | null>
  async find<W extends AnyWorkflow>(
    workflow: ConcreteClass<W>,
    which: string | { readonly hero: StartWhat<W>['hero'] },
  ): Promise<WorkflowHandle<W> | null>
  async find(
    first: string | { hero?: unknown } | ConcreteClass<any>,
    second?: string | { hero?: unknown },
  ): Promise<WorkflowHandle<any> | null> {
    const definition = typeof first === 'function' ? this.#connection.registry.definitionFor(first) : null
    const opened = await this.#connection.open()
    const found = await findOne(opened.engine.store, definition, typeof first === 'function' ? second : first)
    return found && opened.wrap(found)
  }

  /** Workflows by state, hero, step or tag, newest first, a page at a time. */
  async list(options?: ListAnyOptions): Promise<WorkflowPage<AnyWorkflow>>
  async list<W extends AnyWorkflow>(workflow: ConcreteClass<W>, options?: ListOptions<W>): Promise<WorkflowPage<W>>
  async list(first?: ConcreteClass<any> | ListAnyOptions, second?: ListOptions<any>): Promise<WorkflowPage<any>> {
    const definition = typeof first === 'function' ? this.#connection.registry.definitionFor(first) : null
    const opened = await this.#connection.open()
    const options = (typeof first === 'function' ? second : first) ?? {}
    const filter = filterFrom(opened.engine.store, definition, options)
    return readPage(
      () => opened.forHandles().engine.store,
      filter,
      snapshot => opened.wrap(snapshot),
    )
  }

  /** Requests to all workflows that a filter finds, each in a transaction of its own: `all({ state: 'paused' }).resume()`. */
  all(filter: BulkFilter): Bulk {
    const { registry } = this.#connection
    return new Bulk(
      async () => (await this.#connection.open()).engine,
      workflow => registry.definitionFor(workflow),
      filter,
    )
  }

  /** A new workflow that takes over what was done before `from`, outputs included, and runs the rest again. */
  async rerun(id: string, options: { readonly from: string | readonly string[] }): Promise<WorkflowHandle<any>> {
    refuseUnknownOptions('rerun', options ?? {}, ['from'])
    const opened = await this.#connection.open()
    const from = options?.from === undefined ? [] : [options.from].flat()
    const order = await rerunOrder(opened.engine, id, from)
    return opened.wrap({ workflow: await opened.starter.startOrder(order), performing: false })
  }

  /** What deploying this code would do to workflows that run. Writes nothing, and makes the code known to nobody. */
  async check(): Promise<CheckReport> {
    return this.#connection.withStore(store => checkDeploy(store, this.#connection.registry))
  }

  /** Every node of a workflow's graph with the state of its latest attempt. */
  async nodesWithState(id: string): Promise<NodeWithState[]> {
    return (await this.#handle(id)).nodesWithState()
  }

  /** What a workflow waits for, in a sentence, and for each of its nodes why it does not run. Writes nothing. */
  async explain(id: string): Promise<Explanation> {
    return this.#connection.read(engine => explainWorkflow(engine, id))
  }

  /** The same for up to 5,000 workflows in one look: those of the ids that exist, in their order, or those that a filter finds. */
  async explainMany(which: readonly string[] | ExplainFilter): Promise<Explanation[]> {
    return this.#connection.read(engine => explainMany(engine, which))
  }

  /** Recomputes the ancestry of every execution of a workflow. `null`, or the first one that does not fit. */
  async verifyHistory(id: string): Promise<HistoryFlaw | null> {
    return (await this.#handle(id)).verifyHistory()
  }

  /**
   * A picture of a class, of a graph that was built or frozen, or of a workflow by its id, with the states of its nodes:
   * as text for a terminal, as Mermaid, DOT or SVG. A text that is no id is the stored name of a class; its code is not needed.
   */
  async draw(what: ConcreteClass<any> | BuiltGraph | FrozenGraph | string, options?: DrawOptions): Promise<string> {
    return drawWhat(this.#connection, what, options)
  }

  /**
   * Calls the handler for events that this process writes, after their commit and outside of the engine's work. Returns a
   * function that ends it. What other processes write, and everything exactly from where one stopped, is read by `events`.
   */
  readonly on: Listen = (type: string, ...rest: unknown[]) => {
    const [workflow, handler] = rest.length > 1 ? rest : [null, rest[0]]
    return subscribe(this.#bus, this.#connection.registry, { type, workflow, handler } as Wanted)
  }

  /** Every event of every process from a position on, in order, at least once, for as long as the loop goes on. */
  events<const K extends EventName = EventName>(options: EventsOptions<K> = {}): AsyncIterable<EventOfType<K>> {
    return tailEvents(this.#connection, this.#bus, options) as AsyncIterable<any>
  }

  /** Compares what is stored with what the events say, and with what must always be true. Changes nothing. */
  async doctor(options: DoctorOptions = {}): Promise<DoctorReport> {
    return this.#connection.read(({ store }) => examine(store, options))
  }

  /** Removes workflows that ended long ago with all that belongs to them, families whole, in small transactions. */
  async prune(options: PruneOptions): Promise<PruneReport> {
    return prune((await this.#connection.open()).engine.store, options)
  }

  /** What has not moved for so long, and why: due and not claimed, claimed by nobody alive, paused, late schedules. */
  async stuck(options?: StuckOptions): Promise<StuckWork[]> {
    return stuck((await this.#connection.open()).engine.store, options)
  }

  /** How executions of the last while fared: the slowest nodes, the longest waits, the mix of failures; and the queues now. */
  async stats(options?: StatsOptions): Promise<Stats> {
    return stats((await this.#connection.open()).engine.store, options)
  }

  /** For probes and people: is this process alive, can it do its work, how is everything. Never throws. */
  async health(): Promise<Health> {
    return health(async () => (await this.#connection.open()).engine.store, [...this.#workers])
  }

  /** What this process has counted and the queues now, in the text format of Prometheus. For `telemetry: { metrics: true }`. */
  async metrics(): Promise<string> {
    return metricsPage(this.#connection.telemetry)
  }

  /** The HTTP API and the dashboard as a function from request to response, to be mounted in any framework. */
  handler(options: HandlerOptions = {}): FetchHandler {
    const report = (error: unknown) => this.#onError.report(error, null)
    return lazyHandler(options, async settings =>
      (await import('../http/make-handler.ts')).makeHandler(this, settings, report),
    )
  }

  /** Works until SIGTERM, SIGINT or `close()`; then lets running steps end within the grace time. */
  async work(options: WorkOptions = {}): Promise<void> {
    const report = (error: unknown) => this.#onError.report(error, null)
    await workUntilTold(() => this.#makeWorker(options, ['handleSignals']), options, report)
  }

  /** A worker in this process that the caller stops itself, or `close()` does. */
  async startWorker(options?: WorkerOptions): Promise<Worker> {
    const worker = await this.#makeWorker(options)
    await worker.start()
    return worker
  }

  /** Works off what is due and returns how many executions it claimed: for cron and serverless hosts. */
  async runDue(options: RunDueOptions = {}): Promise<number> {
    return (await this.#makeWorker(options, knownOfDrain)).drain(drainOptionsFrom(options))
  }

  /** Pushes what is due, and no live worker has code for, to services that do not look by themselves, until it is stopped. */
  async startDispatcher(options: DispatcherOptions): Promise<Dispatcher> {
    const dispatcher = await startDispatcher(this.#connection, this.#onError, options)
    this.#dispatchers.add(dispatcher)
    return dispatcher
  }

  /** Opens the database and brings its tables up to date. Not needed before other calls, which do the same. */
  async migrate(): Promise<void> {
    await this.#connection.open()
  }

  /**
   * For tools that only look, before anything else is called: tables that are missing or too old are told and left alone, and
   * neither classes nor schedules nor limits of this code are made known. What is asked for is then asked without it.
   */
  onlyLook(): void {
    this.#connection.onlyLook()
  }

  /** Stops the workers of this instance in good order and closes its connections. */
  async close(): Promise<void> {
    if (!this.#connection.markClosed()) return
    await Promise.all([...this.#workers, ...this.#dispatchers].map(each => each.stop()))
    await this.#bus.close()
    await this.#connection.release()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** For the test kit. */
  async openedStore(): Promise<Store> {
    return (await this.#connection.open()).engine.store
  }

  async #handle(id: string): Promise<WorkflowHandle<any>> {
    const found = await this.find(id)
    if (found === null) throw new WorkflowNotFoundError(id)
    return found
  }

  async #makeWorker(options: WorkerOptions = {}, others: readonly string[] = []): Promise<Worker> {
    const settings = workerSettings(options, others)
    this.#connection.refuseWhileLooking()
    const { engine, ticks } = await this.#connection.open()
    // Closed meanwhile: nobody would stop this worker any more.
    if (this.#connection.closed) throw new ClosedError()
    const { maxInputBytes, maxOutputBytes, retention, telemetry: watch, database } = this.#connection
    const shared = { engine, ticks, maxInputBytes, maxOutputBytes, retention, watch, database }
    const worker = new Worker({ ...shared, settings, onError: this.#onError })
    this.#workers.add(worker)
    void worker.stopped.then(() => this.#workers.delete(worker))
    return worker
  }
}
