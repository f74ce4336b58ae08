/**
 * What a worker may claim: which queues and handlers, and how many of each.
 */
import { jobHandler, typesOf } from '../engine/courses.ts'
import type { Engine } from '../engine/engine.ts'
import { timerHandler, timerQueue } from '../engine/plan.ts'
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

export class ClaimPlan {
  readonly #sources: readonly ClaimSource[]
  readonly #settings: WorkerSettings
  /** Timers run no code of the application, so any worker may fire them, whatever queues it serves. */
  readonly timers: readonly ClaimSource[]
  /** Some of the code has a priority, so that what waits may have to age. */
  readonly usesPriorities: boolean
  /** Where the look through lanes has come to. */
  readonly #lanes = new Map<string, string>()
  #limitedFirst = false

  constructor(sources: readonly ClaimSource[], settings: WorkerSettings, usesPriorities = false) {
    this.#sources = sources.filter(source => source.queue !== timerQueue)
    this.timers = [{ queue: timerQueue, handler: timerHandler, generation: Number.MAX_SAFE_INTEGER }]
    this.#settings = settings
    this.usesPriorities = usesPriorities
  }

  /** Looks up every queue that the code names, and those in which older or newer code has left rows. */
  static async make(engine: Engine, settings: WorkerSettings): Promise<ClaimPlan> {
    const types = engine.registry.definitions.flatMap(typesOf)
    const jobs = engine.jobs.names.map(jobHandler)
    const left = settings.queues === null ? await engine.store.queuesOf([...types, ...jobs]) : []
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
    return new ClaimPlan(
      sources,
      settings,
      priorities.some(priority => priority > 0),
    )
  }

  get handlers(): string[] {
    return [timerHandler, ...new Set(this.#sources.map(source => source.handler))]
  }

  /** What others may know of it, who ask why something is not claimed. */
  get served(): WorkerServes {
    const queues = new Set([timerQueue, ...this.#sources.map(source => source.queue)])
    const generations = this.#sources.map(({ handler, generation }) => [handler, generation] as const)
    return { queues: [...queues], generations: Object.fromEntries(generations) }
  }

  serves(queue: string, handler: string): boolean {
    return this.#sources.some(source => source.queue === queue && source.handler === handler)
  }

  limitOf(queue: string): number | null {
    return this.#settings.queues?.get(queue) ?? null
  }

  get sources(): readonly ClaimSource[] {
    return this.#sources
  }

  /**
   * One share for all queues without a limit of their own, and one for each that has one, measured when its turn comes; each
   * in two where limits that all workers share hold for some of its sources. Those take turns at coming first, so that neither
   * keeps the other out of a busy worker.
   */
  *shares(running: RunningSteps, rules: QueueRules): Generator<ClaimShare> {
    this.#limitedFirst = !this.#limitedFirst
    const free = () => this.#settings.concurrency - running.size
    const open = this.#sources.filter(source => !rules.isPaused(source.queue))
    yield* this.#parts(
      null,
      open.filter(source => this.limitOf(source.queue) === null),
      { free, rules },
    )
    for (const [queue, limit] of this.#settings.queues ?? []) {
      if (limit === null) continue
      const room = () => Math.min(free(), limit - running.inQueue(queue))
      yield* this.#parts(
        queue,
        open.filter(source => source.queue === queue),
        { free: room, rules },
      )
    }
  }

  *#parts(
    queue: string | null,
    sources: readonly ClaimSource[],
    { free, rules }: { free: () => number; rules: QueueRules },
  ): Generator<ClaimShare> {
    const limited = sources.filter(source => rules.isLimited(source))
    const plain = limited.length === 0 ? sources : sources.filter(source => !limited.includes(source))
    const parts = this.#limitedFirst ? [limited, plain] : [plain, limited]
    for (const part of parts) {
      if (part.length === 0 || free() <= 0) continue
      const limits = part === limited ? { limited: rules.limitsOf(part, this.#lanes) } : {}
      yield { queue, sources: part, limit: free(), ...limits }
    }
  }
}
