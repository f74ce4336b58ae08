/**
 * Records what steps came to, in groups, and does not give up while the database is only busy or away.
 */
import type { Engine } from '../engine/engine.ts'
import { type FinishRequest, type FinishResult, finishSteps } from '../engine/finish-steps.ts'
import { Batcher } from '../primitives/batcher.ts'
import { jittered, pauseFor } from '../primitives/pause-for.ts'

interface Item {
  readonly workerId: string
  readonly request: FinishRequest
}

const maxGroup = 500
const longestPauseMs = 5000

export class Finisher {
  readonly #engine: Engine
  readonly #batcher: Batcher<Item, FinishResult>

  constructor(engine: Engine) {
    this.#engine = engine
    this.#batcher = new Batcher<Item, FinishResult>({
      write: items => this.#write(items),
      maxGroup,
      keyOf: item => item.request.claimed.workflow.id,
    })
  }

  /** Resolves once the report is durable, or refused. Rejects only for a report that the database will never take. */
  finish(workerId: string, request: FinishRequest): Promise<FinishResult> {
    return this.#batcher.add({ workerId, request })
  }

  /** Two ids meet in a group only when the worker has just begun a new life. */
  async #write(items: readonly Item[]): Promise<FinishResult[]> {
    const results = new Map<Item, FinishResult>()
    for (const workerId of new Set(items.map(item => item.workerId))) {
      const own = items.filter(item => item.workerId === workerId)
      const answers = await this.#record(
        workerId,
        own.map(item => item.request),
      )
      own.forEach((item, index) => results.set(item, answers[index] ?? { kind: 'refused' }))
    }
    return items.map(item => results.get(item) ?? { kind: 'refused' })
  }

  async #record(workerId: string, first: readonly FinishRequest[]): Promise<FinishResult[]> {
    let requests = first
    for (let attempt = 1; ; attempt++) {
      try {
        return await finishSteps(this.#engine, workerId, requests)
      } catch (error) {
        if (this.#engine.store.isLasting(error)) throw error
        requests = requests.map(request => ({ ...request, repeated: true }))
        await pauseFor(jittered(Math.min(50 * 2 ** attempt, longestPauseMs), 0.5))
      }
    }
  }
}
