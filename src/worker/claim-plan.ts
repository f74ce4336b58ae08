/**
 * What a worker may claim: which queues and handlers, and how many of each.
 */
import { jobHandler, typesOf } from '../engine/courses.ts'
import type { Engine } from '../engine/engine.ts'
import { timerHandler, timerQueue } from '../engine/plan.ts'
import { LaneLooks } from '../store/lane-looks.ts'
import type { WorkerServes } from '../store/records.ts'
import type { ClaimLimits, ClaimSource } from '../store/store.ts'
import type { QueueRules } from './queue-rules.ts'
import type { RunningSteps } from './running-steps.ts'
import type { WorkerSettings } from './worker-options.ts'

export interface ClaimShare {
  /** The queue that has a limit of its own; `null` for all that have none. */
  readonly queue: string | null
  readonly sources: readonly ClaimSource[]
  readonly limit: number
  /** Set exactly where the sources are held to limits that all workers share. */
  readonly limited?: ClaimLimits
}

interface Room {
  free(): number
  readonly rules: QueueRules
}

export class ClaimPlan {
  readonly #sources: readonly ClaimSource[]
  readonly #settings: WorkerSettings
  /** Timers and nodes without code: any worker may fire or run them, whatever queues it serves. */
  readonly timers: readonly ClaimSource[]
  /** Some of the code has a priority, so that what waits may have to age. */
  readonly usesPriorities: boolean
  /** Queues in which rows were found, whoever has named them. */
  readonly left: readonly string[]
  /** Where the look through lanes has come to. A plan goes on where the one before it was. */
  readonly lanes: LaneLooks
  #limitedFirst = false
  /** The last claim came back full, so that there may be more than can be run. */
  #isBehind = false
  /** Something may have been left where it is for want of room, as of the last look. */
  #isShort = true
  /** The queue that came first the last time that there was room. */
  #cameFirst: string | null = null

  constructor(
    sources: readonly ClaimSource[],
    settings: WorkerSettings,
    {
      usesPriorities = false,
      left = [],
      lanes = new LaneLooks(),
    }: { readonly usesPriorities?: boolean; readonly left?: readonly string[]; readonly lanes?: LaneLooks } = {},
  ) {
    this.#sources = sources.filter(source => source.queue !== timerQueue)
    this.timers = [{ queue: timerQueue, handler: timerHandler, generation: Number.MAX_SAFE_INTEGER }]
    this.#settings = settings
    this.usesPriorities = usesPriorities
    this.left = left
    this.lanes = lanes
  }

  /**
   * Looks up every queue that the code names, and those in which older or newer code has left rows. The first look reads all rows, also those
   * that are held; with a plan from `before` only new lines are looked for, because that is done every minute.
   */
  static async make(engine: Engine, settings: WorkerSettings, before: ClaimPlan | null = null): Promise<ClaimPlan> {
    const types = engine.registry.definitions.flatMap(typesOf)
    const jobs = engine.jobs.names.map(jobHandler)
    const left = settings.queues === null ? await leftQueues(engine.store, [...types, ...jobs], before) : []
    const named = engine.registry.definitions
      .map(({ graph }) => graph.data)
      .flatMap(({ queue, nodes }) => [queue, ...nodes.map(node => node.queue)])
    const ofJobs = engine.jobs.names.map(name => engine.jobs.find(name)?.queue ?? 'default')
    const queues = new Set([...left, ...named, ...ofJobs].filter(queue => queue !== timerQueue))
    const served = settings.queues === null ? [...queues] : [...settings.queues.keys()]
    const sources = served.flatMap(queue =>
      [...types, ...jobs].map(handler => ({ queue, handler, generation: engine.courses.generationOf(handler) })),
    )
    const priorities = [
      ...engine.registry.definitions.flatMap(({ graph }) => graph.nodes.map(node => node.priority)),
      ...engine.jobs.names.map(name => engine.jobs.find(name)?.priority ?? 0),
    ]
    const usesPriorities = priorities.some(priority => priority > 0)
    return new ClaimPlan(sources, settings, {
      usesPriorities,
      left,
      ...(before === null ? {} : { lanes: before.lanes }),
    })
  }

  get handlers(): string[] {
    return [timerHandler, ...new Set(this.#sources.map(source => source.handler))]
  }

  /** What others may know of it, who ask why something is not claimed. */
  get served(): WorkerServes {
    const queues = new Set([timerQueue, ...this.#sources.map(source => source.queue)])
    const sources = [...this.timers, ...this.#sources]
    const generations = sources.map(({ handler, generation }) => [handler, generation] as const)
    return { queues: [...queues], generations: Object.fromEntries(generations) }
  }

  serves(queue: string, handler: string): boolean {
    if (queue === timerQueue) return handler === timerHandler
    return this.#sources.some(source => source.queue === queue && source.handler === handler)
  }

  limitOf(queue: string): number | null {
    return this.#settings.queues?.get(queue) ?? null
  }

  get sources(): readonly ClaimSource[] {
    return this.#sources
  }

  /** More was due than there was room for, as of the last look. */
  get isBehind(): boolean {
    return this.#isBehind
  }

  /**
   * Whether room that is given up in a queue may be wanted by something that is due already. Else nobody is woken: on an idle
   * system every end would be followed by a claim in vain.
   */
  wantsRoom(queue: string): boolean {
    return queue === timerQueue || this.#isShort || this.#isBehind
  }

  /** Something was passed over that may have its turn when a step ends. */
  noteShort(): void {
    this.#isShort = true
  }

  /** Told after each look whether one of its claims came back full. */
  noteBacklog(isBehind: boolean): void {
    this.#isBehind = isBehind
  }

  /**
   * One share for all queues without a limit of their own, and one for each that has one, measured when its turn comes; each
   * in two where limits that all workers share hold for some of its sources. Those take turns at coming first, so that neither
   * keeps the other out of a busy worker; and so do queues, so that the backlog of one does not keep others waiting.
   */
  *shares(running: RunningSteps, rules: QueueRules): Generator<ClaimShare> {
    this.lanes.beginLook()
    const free = () => this.#settings.concurrency - running.size
    this.#isShort = free() <= 0
    // Without room nobody comes first, so no turn is used up.
    if (this.#isShort) return
    this.#limitedFirst = !this.#limitedFirst
    const open = this.#sources.filter(source => !rules.isPaused(source.queue))
    yield* this.#sharedShares(
      open.filter(source => this.limitOf(source.queue) === null),
      { free, rules },
    )
    const limits = [...(this.#settings.queues ?? [])].flatMap(([queue, limit]) =>
      limit === null ? [] : [{ queue, room: () => Math.min(free(), limit - running.inQueue(queue)) }],
    )
    const inTurn = beginningAfter(limits, ({ queue }) => queue === this.#cameFirst)
    this.#cameFirst = inTurn.find(({ room }) => room() > 0)?.queue ?? this.#cameFirst
    for (const { queue, room } of inTurn) {
      yield* this.#parts(
        queue,
        open.filter(source => source.queue === queue),
        { free: room, rules },
      )
    }
  }

  /**
   * Queues without limits share one claim, in the order of age and priority. That alone would let whoever has most of the old
   * work have all the room, so with a backlog one queue gets its part of the room first, each in its turn.
   */
  *#sharedShares(sources: readonly ClaimSource[], { free, rules }: Room): Generator<ClaimShare> {
    const queues = [...new Set(sources.map(source => source.queue))]
    if (this.#isBehind && queues.length > 1) {
      const [first = ''] = beginningAfter(queues, queue => queue === this.#cameFirst)
      this.#cameFirst = first
      const part = Math.ceil(free() / queues.length)
      const own = sources.filter(source => source.queue === first)
      yield* this.#parts(null, own, { free: () => Math.min(free(), part), rules })
    }
    yield* this.#parts(null, sources, { free, rules })
  }

  *#parts(queue: string | null, sources: readonly ClaimSource[], { free, rules }: Room): Generator<ClaimShare> {
    const limited = sources.filter(source => rules.isLimited(source))
    const plain = limited.length === 0 ? sources : sources.filter(source => !limited.includes(source))
    const parts = this.#limitedFirst ? [limited, plain] : [plain, limited]
    for (const part of parts) {
      if (part.length === 0) continue
      // What ends here may leave room under limits that all workers share.
      if (part === limited || free() <= 0) this.#isShort = true
      if (free() <= 0) continue
      const limits = part === limited ? { limited: rules.limitsOf(part, this.lanes) } : {}
      yield { queue, sources: part, limit: free(), ...limits }
    }
  }
}

/** The same in a circle, from the one behind the last that came first. */
function beginningAfter<T>(items: readonly T[], isLast: (item: T) => boolean): T[] {
  const start = items.findIndex(isLast) + 1
  return [...items.slice(start), ...items.slice(0, start)]
}

async function leftQueues(
  store: Engine['store'],
  handlers: readonly string[],
  before: ClaimPlan | null,
): Promise<string[]> {
  if (before === null) return store.queuesOf(handlers)
  return [...new Set([...before.left, ...(await store.queuesInLine(handlers))])]
}
