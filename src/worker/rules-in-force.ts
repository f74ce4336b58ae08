/** The limits and pauses that a worker goes by, read again when the database says that they have changed. */
import { typesOf } from '../engine/courses.ts'
import type { Engine } from '../engine/engine.ts'
import { StaleLimits } from '../store/store.ts'
import { QueueRules } from './queue-rules.ts'

export class RulesInForce {
  readonly #engine: Engine
  #now = new QueueRules({ revision: 0, limits: [] }, () => [])

  constructor(engine: Engine) {
    this.#engine = engine
  }

  get now(): QueueRules {
    return this.#now
  }

  async read(): Promise<void> {
    const { store, courses } = this.#engine
    this.#now = new QueueRules(await store.limits.read(), handler => {
      const definition = courses.findDefinition(handler)
      return definition === null ? [] : typesOf(definition)
    })
  }

  /** True when a claim failed because they had changed, and the new ones are known now: then it is worth another try. */
  async areRenewedAfter(error: unknown): Promise<boolean> {
    if (!(error instanceof StaleLimits)) return false
    return this.read().then(
      () => true,
      () => false,
    )
  }
}
