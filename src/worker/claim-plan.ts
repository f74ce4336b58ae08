/**
 * What a worker may claim: which queues and handlers, and how many of each.
 */
import { type Graph, graphOf } from '../definition/graph.ts'
import { type Engine, typesOf } from '../engine/engine.ts'
import { timerQueue } from '../engine/schedule.ts'
import type { ClaimSource } from '../store/store.ts'
import type { RunningSteps } from './running-steps.ts'
import type { WorkerSettings } from './worker-options.ts'

export interface ClaimShare {
  readonly sources: readonly ClaimSource[]
  readonly limit: number
}

export class ClaimPlan {
  readonly #sources: readonly ClaimSource[]
  readonly #settings: WorkerSettings
  /** Timers of all classes that this process knows, whatever queues it serves. */
  readonly timers: readonly ClaimSource[]

  constructor(sources: readonly ClaimSource[], settings: WorkerSettings) {
    this.#sources = sources.filter(source => source.queue !== timerQueue)
    this.timers = sources.filter(source => source.queue === timerQueue)
    this.#settings = settings
  }

  /** Looks up every queue that the code names, and those that only older code has named. */
  static async make(engine: Engine, settings: WorkerSettings): Promise<ClaimPlan> {
    const types = engine.registry.definitions.flatMap(typesOf)
    const stored = (await engine.store.allGraphs(types)).map(({ graph }) => JSON.parse(graph) as Graph)
    // A graph is stored once for its shape, so the queues that the code names now may be others.
    const graphs = [...stored, ...engine.registry.definitions.map(graphOf)]
    const queues = new Set(graphs.flatMap(graph => [graph.queue, ...graph.nodes.map(node => node.queue)]))
    const served = settings.queues === null ? [...queues] : [...settings.queues.keys()]
    const sources = [...served, timerQueue].flatMap(queue =>
      types.map(handler => ({ queue, handler, generation: engine.generationOf(handler) })),
    )
    return new ClaimPlan(sources, settings)
  }

  get handlers(): string[] {
    return [...new Set(this.#sources.map(source => source.handler))]
  }

  serves(queue: string, running: RunningSteps): boolean {
    if (!this.#sources.some(source => source.queue === queue)) return false
    const limit = this.#settings.queues?.get(queue) ?? null
    return limit === null || running.inQueue(queue) < limit
  }

  /** One share for all queues without a limit of their own, and one for each that has one. */
  shares(running: RunningSteps): ClaimShare[] {
    const free = this.#settings.concurrency - running.size
    if (free <= 0) return []
    const limits = this.#settings.queues
    const shared = this.#sources.filter(source => (limits?.get(source.queue) ?? null) === null)
    const shares: ClaimShare[] = shared.length > 0 ? [{ sources: shared, limit: free }] : []
    for (const [queue, limit] of limits ?? []) {
      if (limit === null) continue
      const room = Math.min(free, limit - running.inQueue(queue))
      if (room > 0) shares.push({ sources: this.#sources.filter(source => source.queue === queue), limit: room })
    }
    return shares
  }
}
