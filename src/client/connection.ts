/**
 * One instance's hold on a database: opened when it is first needed, closed once. It also knows the code of this process:
 * classes, jobs and templates.
 */
import type { Form } from '../definition/define-form.ts'
import type { Schedule } from '../definition/define-schedule.ts'
import { FormRegistry } from '../definition/form-registry.ts'
import type { FrozenGraph } from '../definition/frozen-graph.ts'
import { defaultGraphLimits, type GraphLimits } from '../definition/graph-limits.ts'
import type { Job } from '../definition/job.ts'
import { JobRegistry } from '../definition/job-registry.ts'
import type { LimitOptions } from '../definition/limit-options.ts'
import { parseFrozenGraph } from '../definition/parse-frozen-graph.ts'
import { Registry } from '../definition/registry.ts'
import { ScheduleRegistry } from '../definition/schedule-registry.ts'
import type { Template } from '../definition/template.ts'
import type { OpenTransaction } from '../definition/transaction.ts'
import type { WorkflowClass } from '../definition/workflow.ts'
import { Engine } from '../engine/engine.ts'
import { Ticks } from '../engine/ticks.ts'
import { ClosedError, InvalidArgumentError } from '../errors.ts'
import { type ObserveOptions, Telemetry } from '../observe/telemetry/telemetry.ts'
import { optionNames, refuseUnknownOptions } from '../primitives/refuse-unknown-options.ts'
import { checkDatabaseOptions, type DatabaseOptions, type OpeningAim } from '../store/database-options.ts'
import type { RetentionAges } from '../store/housekeeping-store.ts'
import type { LimitDeclaration } from '../store/limit-store.ts'
import { hasOneWriter, openerFor } from '../store/open-store.ts'
import type { Store, WorkflowSnapshot } from '../store/store.ts'
import type { OnError } from '../worker/error-listener.ts'
import { agingRate, classDeclaration, queueDeclarations } from './declared-limits.ts'
import { type RetentionOptions, retentionAges } from './retention.ts'
import { Starter } from './starter.ts'
import { Waiters } from './waiters.ts'
import { type HandleParts, WorkflowHandle } from './workflow-handle.ts'

export interface GenevaOptions extends ObserveOptions {
  /** `sqlite:app.db`, `postgres://...`, `mysql://...`, or the same with options. */
  readonly database: string | DatabaseOptions
  readonly workflows?: readonly WorkflowClass<any>[]
  /** Code for the nodes of graphs that are built at run time. */
  readonly jobs?: readonly Job[]
  /** What the data of decisions must fit, for graphs that are built at run time. */
  readonly forms?: readonly Form[]
  /** Graphs that are described once, under a name. */
  readonly templates?: readonly Template[]
  /** Workflows that are started by a cron expression or an interval, by whichever worker is there. */
  readonly schedules?: readonly Schedule[]
  /** How long workflows are kept after they have ended: `'30 days'`, or by state. Default: for ever. */
  readonly retention?: RetentionOptions
  /** Limits of queues, over all workers and processes. What is left out stays as it is; `{}` takes limits away. */
  readonly queues?: Readonly<Record<string, LimitOptions>>
  /** How many points of priority a step gains for each second that it waits, up to 100. Default 0.5; `false`: none. */
  readonly aging?: { readonly rate: number } | false
  /**
   * Opens the transactions that transactional steps receive, with the application's own library:
   * `run => db.transaction().execute(run)`. Default: Geneva opens them on a connection of its own.
   */
  readonly transactions?: OpenTransaction
  /** Bring the tables up to date on first use. Default true; with false, run `geneva migrate` before. */
  readonly migrate?: boolean
  /** Gets every error of a step, hook, condition or hero load, after it was recorded. Default: writes to the logger, else to the console. */
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

const knownOfGeneva = optionNames<GenevaOptions>({
  database: 0,
  workflows: 0,
  jobs: 0,
  forms: 0,
  templates: 0,
  schedules: 0,
  retention: 0,
  queues: 0,
  aging: 0,
  transactions: 0,
  migrate: 0,
  onError: 0,
  limits: 0,
  telemetry: 0,
  logger: 0,
})
const knownOfLimits = optionNames<NonNullable<GenevaOptions['limits']>>({
  inputBytes: 0,
  outputBytes: 0,
  graphNodes: 0,
  graphEdges: 0,
  graphBytes: 0,
})

export interface Opened {
  readonly engine: Engine
  readonly starter: Starter
  readonly ticks: Ticks
  readonly waiters: Waiters
  wrap(snapshot: WorkflowSnapshot): WorkflowHandle<any>
  /** Throws once this instance is closed. */
  forHandles(): HandleParts
}

const defaultBytes = 1024 * 1024

export class Connection {
  readonly registry: Registry
  readonly jobs: JobRegistry
  readonly forms: FormRegistry
  readonly schedules: ScheduleRegistry
  readonly retention: RetentionAges
  /** `null` where nobody wants to know. */
  readonly telemetry: Telemetry | null
  readonly maxInputBytes: number
  readonly maxOutputBytes: number
  readonly graphLimits: GraphLimits
  readonly #limits: readonly LimitDeclaration[]
  readonly #agingRate: number | null | undefined
  readonly #options: GenevaOptions
  readonly database: DatabaseOptions
  readonly #onOpen: (store: Store) => void
  #opened: Promise<Opened> | null = null
  #ready = false
  #closed = false
  #looks = false

  /** `onOpen` gets the store as soon as there is one. */
  constructor(options: GenevaOptions, onOpen: (store: Store) => void = () => {}) {
    refuseUnknownOptions('new Geneva', options, knownOfGeneva)
    this.#options = options
    this.#onOpen = onOpen
    this.database = typeof options.database === 'string' ? { url: options.database } : options.database
    openerFor(this.database?.url)
    checkDatabaseOptions(this.database)
    checkLimits(options.limits)
    if (options.workflows !== undefined && !Array.isArray(options.workflows)) {
      throw new InvalidArgumentError('The `workflows` of a Geneva must be an array of workflow classes.')
    }
    if (options.transactions !== undefined && typeof options.transactions !== 'function') {
      throw new InvalidArgumentError(
        'The `transactions` of a Geneva must be a function that opens one: `run => db.transaction().execute(run)`.',
      )
    }
    this.registry = new Registry(options.workflows ?? [])
    this.jobs = new JobRegistry(options.jobs ?? [], options.templates ?? [])
    this.forms = new FormRegistry(options.forms ?? [])
    this.schedules = new ScheduleRegistry(options.schedules ?? [])
    for (const { workflow } of this.schedules.all) this.registry.definitionFor(workflow)
    this.retention = retentionAges(options.retention)
    this.telemetry = Telemetry.from(options)
    this.#limits = [...queueDeclarations(options.queues), ...this.registry.definitions.map(classDeclaration)]
    this.#agingRate = agingRate(options.aging)
    const { inputBytes, outputBytes, graphNodes, graphEdges, graphBytes } = options.limits ?? {}
    const { nodes, edges, bytes } = defaultGraphLimits
    this.maxInputBytes = inputBytes ?? defaultBytes
    this.maxOutputBytes = outputBytes ?? defaultBytes
    this.graphLimits = { nodes: graphNodes ?? nodes, edges: graphEdges ?? edges, bytes: graphBytes ?? bytes }
  }

  get closed(): boolean {
    return this.#closed
  }

  /** For whoever only looks: from here on opening makes no file and no tables, and nothing of the code of this process known. */
  onlyLook(): void {
    this.#looks = true
  }

  /** Code that nobody has been told of begins nothing and runs nothing. */
  refuseWhileLooking(): void {
    if (!this.#looks) return
    throw new InvalidArgumentError(
      'This Geneva only looks, because `onlyLook()` was called: it starts no workflows and no workers. Use another one for that.',
    )
  }

  open(): Promise<Opened> {
    if (this.#closed) return Promise.reject(new ClosedError())
    this.#opened ??= this.#openDatabase().catch(error => {
      this.#opened = null
      throw error
    })
    return this.#opened
  }

  /** Opening may have to write, and would then wait for a transaction that waits for it. */
  openFor(options: { readonly transaction?: object } | null): Promise<Opened> {
    if (options?.transaction === undefined || this.#ready || this.#closed || !hasOneWriter(this.database.url))
      return this.open()
    throw new InvalidArgumentError(
      'The database must be open before the transaction begins: `await geneva.migrate()` when the application starts.',
    )
  }

  /** A store of its own for a while, without making the code of this process known. */
  async withStore<T>(work: (store: Store) => Promise<T>): Promise<T> {
    return this.withBareStore(async store => {
      await store.checkSchema()
      return work(store)
    })
  }

  /** The same, whatever tables there are. */
  async withBareStore<T>(work: (store: Store) => Promise<T>, aim?: OpeningAim): Promise<T> {
    if (this.#closed) throw new ClosedError()
    const store = await this.#openStore(aim)
    try {
      return await work(store)
    } finally {
      await store.close()
    }
  }

  /** For looking only: where nothing is open yet, the tables stay as they are, and the code of this process unknown. */
  async read<T>(work: (engine: Engine) => Promise<T>): Promise<T> {
    if (this.#opened !== null) return work((await this.open()).engine)
    return this.withStore(store => work(this.#engineOn(store)))
  }

  /** From now on nothing is opened any more. False if that was so already. */
  markClosed(): boolean {
    if (this.#closed) return false
    this.#closed = true
    return true
  }

  async release(): Promise<void> {
    const opened = await this.#opened?.catch(() => null)
    opened?.waiters.close()
    this.telemetry?.closed()
    await opened?.engine.store.close()
  }

  /** Methods may stand in a graph only where it belongs to a class. */
  parseGraph(json: string | object, type: string | null = null): FrozenGraph {
    const definition = type === null || type === '' ? null : this.registry.definitionFor(type)
    return parseFrozenGraph(json, {
      limits: this.graphLimits,
      knowsJob: name => this.jobs.find(name) !== null,
      knowsMethod: name => definition?.nodeIndex.has(name) === true,
      knowsForm: name => this.forms.find(name) !== null,
      knowsWorkflow: name => this.registry.has(name),
    })
  }

  #engineOn(store: Store): Engine {
    const { registry, jobs, forms, telemetry } = this
    const transactions = this.#options.transactions ?? null
    return new Engine(store, registry, jobs, { forms, tracing: telemetry?.tracing ?? null, transactions })
  }

  #openStore(aim?: OpeningAim): Promise<Store> {
    const { database } = this
    return openerFor(database.url)(this.#looks ? { ...database, mustExist: true } : database, aim)
  }

  async #openDatabase(): Promise<Opened> {
    const looks = this.#looks
    const store = await this.#openStore()
    try {
      await (looks || this.#options.migrate === false ? store.checkSchema() : store.migrate())
      const engine = this.#engineOn(store)
      this.telemetry?.opened(store)
      this.#onOpen(store)
      const ticks = new Ticks(engine, this.schedules, this.maxInputBytes)
      // What was said before holds where nothing is said now.
      await store.limits.setAging(looks ? undefined : this.#agingRate)
      if (!looks) await this.#makeKnown(engine, ticks)
      const parts = { engine, waiters: new Waiters(engine) }
      const forHandles = () => this.#whileOpen(parts)
      passOn(engine)
      this.#ready = true
      const starter = new Starter(engine, this.maxInputBytes)
      const refuse = () => this.refuseWhileLooking()
      return {
        ...parts,
        get starter() {
          refuse()
          return starter
        },
        ticks,
        forHandles,
        wrap: snapshot => new WorkflowHandle(forHandles, snapshot),
      }
    } catch (error) {
      this.telemetry?.closed()
      await store.close()
      throw error
    }
  }

  /** What the code of this process says holds for all processes from now on. */
  async #makeKnown(engine: Engine, ticks: Ticks): Promise<void> {
    await engine.register()
    await engine.store.limits.declare(this.#limits)
    await ticks.register()
  }

  /** A handle may outlive this instance, but not its connections. */
  #whileOpen<T>(parts: T): T {
    if (this.#closed) throw new ClosedError()
    return parts
  }
}

/** What has become due here, or is to be stopped, may be another process's. */
function passOn({ ends, store: { hints } }: Engine): void {
  if (hints === undefined) return
  ends.onWork(codeless => hints.send(codeless ? 'codeless' : 'work'))
  ends.onStop(() => hints.send('stop'))
}

function checkLimits(limits: GenevaOptions['limits'] = {}): void {
  refuseUnknownOptions('The limits', limits, knownOfLimits)
  for (const [name, size] of Object.entries(limits)) {
    if (size === undefined || (Number.isSafeInteger(size) && size > 0)) continue
    throw new InvalidArgumentError(`The limit ${name} must be a whole number above 0, not ${String(size)}.`)
  }
}
