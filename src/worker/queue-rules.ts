/**
 * The limits and pauses that a worker goes by, as it read them last: which sources it must not claim from, which only under a
 * lock, and whether a step may run on. Only the database can say whether there is room; this says where to ask it. Pure.
 */
import type { LaneLooks } from '../store/lane-looks.ts'
import type { LimitKey, LimitRecord, LimitRules, StoredLimits } from '../store/limit-store.ts'
import type { ClaimedExecution } from '../store/records.ts'
import type { ClaimLimits, ClaimSource } from '../store/store.ts'

type Place = Pick<ClaimSource, 'queue' | 'handler'>

/** The names of the class that a handler stands for, the present one first; none: that of a job. */
export type NamesOf = (handler: string) => readonly string[]

export class QueueRules {
  readonly revision: number
  readonly #queues: ReadonlyMap<string, LimitRecord>
  readonly #classes: ReadonlyMap<string, LimitRecord>
  readonly #namesOf: NamesOf

  constructor({ revision, limits }: LimitRules, namesOf: NamesOf) {
    this.revision = revision
    this.#queues = byName(limits.filter(({ scope }) => scope === 'queue'))
    this.#classes = byName(limits.filter(({ scope }) => scope === 'class'))
    this.#namesOf = namesOf
  }

  isPaused(queue: string): boolean {
    return (this.#queues.get(queue)?.paused ?? null) !== null
  }

  /** It may be claimed from only under the lock of its limits, or its rows may stand in lanes. */
  isLimited(place: Place): boolean {
    const ofClass = this.#limitOf(place.handler)
    const ofQueue = this.#queues.get(place.queue)
    return (
      (ofQueue !== undefined && isSet(ofQueue.limits)) ||
      (ofClass !== null && isSet(ofClass.limits)) ||
      this.#lanesOf(place.handler).length > 0
    )
  }

  limitsOf(sources: readonly ClaimSource[], lanes: LaneLooks): ClaimLimits {
    const keys = new Map<string, LimitKey>()
    const classes = new Map<string, string>()
    const laned = new Set<string>()
    for (const { queue, handler } of sources) {
      const ofClass = this.#limitOf(handler)
      const lanesOf = this.#lanesOf(handler)
      for (const limit of [this.#queues.get(queue) ?? [], ofClass ?? [], lanesOf].flat()) {
        keys.set(JSON.stringify([limit.scope, limit.name]), { scope: limit.scope, name: limit.name })
      }
      if (ofClass !== null) classes.set(handler, ofClass.name)
      if (lanesOf.length > 0) laned.add(handler)
    }
    return { keys: [...keys.values()], classes, laned, lanes }
  }

  /**
   * A step that ends leaves its place to the next one of its workflow, so under the same limits it may go on; not where starts
   * are counted, and not when the limits have changed since it was claimed: then it stands in line again.
   */
  mayRunOn({ execution, revision }: ClaimedExecution, next: Place): boolean {
    if (this.isPaused(next.queue)) return false
    if (!this.isLimited(next)) return true
    if (revision !== this.revision) return false
    const ofQueue = this.#queues.get(next.queue)
    if (ofQueue !== undefined && isSet(ofQueue.limits)) {
      if (ofQueue.limits.rate !== null || execution.queue !== next.queue) return false
    }
    const ofClass = this.#limitOf(next.handler)
    if (ofClass === null) return true
    const sameClass = this.#namesOf(execution.handler)[0] === ofClass.name
    return sameClass && ofClass.limits.rate === null && ofClass.perKey.rate === null
  }

  /** A class is held to the limits of its present name. */
  #limitOf(handler: string): LimitRecord | null {
    const [name] = this.#namesOf(handler)
    return name === undefined ? null : (this.#classes.get(name) ?? null)
  }

  /** What was started while the class had keys stands in lanes, whatever it was called then and has declared since. */
  #lanesOf(handler: string): LimitRecord[] {
    return this.#namesOf(handler).flatMap(name => {
      const limit = this.#classes.get(name)
      return limit?.hasLanes ? limit : []
    })
  }
}

function byName(limits: readonly LimitRecord[]): Map<string, LimitRecord> {
  return new Map(limits.map(limit => [limit.name, limit]))
}

function isSet({ concurrency, rate }: StoredLimits): boolean {
  return concurrency !== null || rate !== null
}
