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
  /** By handler. Asked for with every step. */
  readonly #rules = new Map<string, ClassRules>()

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
    const { limit, lanes } = this.#rulesOf(place.handler)
    const ofQueue = this.#queues.get(place.queue)
    return (
      (ofQueue !== undefined && isSet(ofQueue.limits)) || (limit !== null && isSet(limit.limits)) || lanes.length > 0
    )
  }

  limitsOf(sources: readonly ClaimSource[], lanes: LaneLooks): ClaimLimits {
    const keys = new Map<string, LimitKey>()
    const classes = new Map<string, string>()
    const laned = new Set<string>()
    for (const { queue, handler } of sources) {
      const ofClass = this.#rulesOf(handler)
      for (const limit of [this.#queues.get(queue) ?? [], ofClass.limit ?? [], ofClass.lanes].flat()) {
        keys.set(JSON.stringify([limit.scope, limit.name]), { scope: limit.scope, name: limit.name })
      }
      if (ofClass.limit !== null) classes.set(handler, ofClass.limit.name)
      if (ofClass.lanes.length > 0) laned.add(handler)
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
    const { limit } = this.#rulesOf(next.handler)
    if (limit === null) return true
    const sameClass = this.#namesOf(execution.handler)[0] === limit.name
    return sameClass && limit.limits.rate === null && limit.perKey.rate === null
  }

  #rulesOf(handler: string): ClassRules {
    if (this.#classes.size === 0) return noRules
    const known = this.#rules.get(handler)
    if (known !== undefined) return known
    const records = this.#namesOf(handler).map(name => this.#classes.get(name) ?? null)
    const lanes = records.flatMap(record => (record?.hasLanes ? record : []))
    const rules = { limit: records[0] ?? null, lanes }
    // A class may still be registered under the name of a handler that is not known.
    if (records.length > 0) this.#rules.set(handler, rules)
    return rules
  }
}

interface ClassRules {
  /** A class is held to the limits of its present name. */
  readonly limit: LimitRecord | null
  /** What was started while the class had keys stands in lanes, whatever it was called then and has declared since. */
  readonly lanes: readonly LimitRecord[]
}

const noRules: ClassRules = { limit: null, lanes: [] }

function byName(limits: readonly LimitRecord[]): Map<string, LimitRecord> {
  return new Map(limits.map(limit => [limit.name, limit]))
}

function isSet({ concurrency, rate }: StoredLimits): boolean {
  return concurrency !== null || rate !== null
}
