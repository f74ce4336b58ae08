/**
 * How many more executions may begin, by queue, class and key, from what runs and what has begun lately. Pure; the caller
 * holds the lock on the limits, so that nobody else counts at the same time.
 */
import type { LimitRecord, StoredLimits } from '../limit-store.ts'
import { type StartLog, startedSince } from '../start-log.ts'

/** Where an execution stands, as far as limits are concerned. */
export interface Standing {
  readonly queue: string
  /** The class that its handler belongs to. */
  readonly className: string | null
  readonly lane: string
}

/** A limit with what has begun under it. Those of a lane have the lane's log. */
export interface Metered {
  readonly limits: StoredLimits
  readonly log: StartLog
}

export interface BudgetFacts {
  readonly now: number
  readonly limits: readonly (LimitRecord & { readonly log: StartLog })[]
  readonly running: readonly (Standing & { readonly count: number })[]
}

export class ClaimBudget {
  readonly #facts: BudgetFacts
  readonly #free = new Map<string, number>()

  constructor(facts: BudgetFacts) {
    this.#facts = facts
  }

  /** How many more may begin there. */
  freeAt(standing: Standing): number {
    return Math.min(...this.#keysFor(standing).map(key => this.#free.get(key) ?? Number.POSITIVE_INFINITY))
  }

  /** Counts one that begins; false, and nothing counted, when there is no room for it. */
  spend(standing: Standing): boolean {
    if (this.freeAt(standing) <= 0) return false
    for (const key of this.#keysFor(standing)) this.#free.set(key, (this.#free.get(key) ?? 0) - 1)
    return true
  }

  /** Each key of the class has a rate. */
  countsStarts(className: string): boolean {
    return (this.#find('class', className)?.perKey.rate ?? null) !== null
  }

  /** What began in a lane lately, where that counts; must be known before its room is asked for. */
  noteLane(className: string, lane: string, log: StartLog): void {
    const limit = this.#find('class', className)
    if (limit === undefined || lane === '') return
    const running = this.#count(row => row.className === className && row.lane === lane)
    this.#free.set(laneKey(className, lane), room({ limits: limit.perKey, log }, running, this.#facts.now))
  }

  /** The keys of the limits that hold there, each counted when first met. */
  #keysFor({ queue, className, lane }: Standing): string[] {
    const keys = [this.#known('queue', queue, row => row.queue === queue)]
    if (className !== null) keys.push(this.#known('class', className, row => row.className === className))
    if (className !== null && lane !== '') {
      const key = laneKey(className, lane)
      if (!this.#free.has(key)) this.noteLane(className, lane, [])
      keys.push(key)
    }
    return keys
  }

  #known(scope: LimitRecord['scope'], name: string, belongs: (row: Standing) => boolean): string {
    const key = JSON.stringify([scope, name])
    if (!this.#free.has(key)) {
      const limit = this.#find(scope, name)
      const free = limit === undefined ? Number.POSITIVE_INFINITY : room(limit, this.#count(belongs), this.#facts.now)
      this.#free.set(key, limit?.paused ? 0 : free)
    }
    return key
  }

  #find(scope: LimitRecord['scope'], name: string) {
    return this.#facts.limits.find(limit => limit.scope === scope && limit.name === name)
  }

  #count(belongs: (row: Standing) => boolean): number {
    return this.#facts.running.filter(belongs).reduce((sum, row) => sum + row.count, 0)
  }
}

function laneKey(className: string, lane: string): string {
  return JSON.stringify(['lane', className, lane])
}

function room({ limits, log }: Metered, running: number, now: number): number {
  const { concurrency, rate } = limits
  const places = concurrency === null ? Number.POSITIVE_INFINITY : concurrency - running
  const starts = rate === null ? Number.POSITIVE_INFINITY : rate.limit - startedSince(log, now, rate.perMs)
  return Math.min(places, starts)
}
