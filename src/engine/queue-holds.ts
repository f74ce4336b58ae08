/**
 * Which pause or limit keeps a row that is due from being claimed, and who holds the places. Counts as a claim would, from what
 * was read in one look; pure, and old news by the time it is read.
 */
import { toDate, toOptionalDate } from '../primitives/to-date.ts'
import type { LimitStanding, PlaceHolder } from '../store/limit-store.ts'
import type { StandingRow } from '../store/readiness-facts.ts'
import { nextStartAt, startedSince } from '../store/start-log.ts'
import type { LimitHolder, WaitReason } from './wait-reason.ts'

/** How many of those who hold places are named. */
const mostNamed = 10

export interface HoldFacts {
  readonly now: number
  readonly limits: readonly LimitStanding[]
  /** What runs under limits. */
  readonly holders: readonly PlaceHolder[]
}

/** The present name of the class that a handler stands for. */
type ClassOf = (handler: string) => string | null

type Limit = Extract<WaitReason, { kind: 'limit' }>
type Place = Pick<StandingRow, 'queue' | 'handler' | 'lane'>

export class QueueHolds {
  readonly #facts: HoldFacts
  readonly #classOf: ClassOf
  readonly #byKey: ReadonlyMap<string, LimitStanding>

  constructor(facts: HoldFacts, classOf: ClassOf) {
    this.#facts = facts
    this.#classOf = classOf
    this.#byKey = new Map(facts.limits.map(limit => [keyOf(limit.scope, limit.name, limit.lane), limit]))
  }

  pauseOf({ queue }: Place): WaitReason | null {
    const paused = this.#byKey.get(keyOf('queue', queue, ''))?.paused ?? null
    if (paused === null) return null
    return { kind: 'queue_paused', queue, by: paused.by, reason: paused.reason, since: toDate(paused.at) }
  }

  /** Every limit that leaves no room where the row stands. */
  limitsOf({ queue, handler, lane }: Place): WaitReason[] {
    const className = this.#classOf(handler) ?? handler
    const ofQueue = this.#byKey.get(keyOf('queue', queue, ''))
    const ofClass = this.#byKey.get(keyOf('class', className, ''))
    const inClass = (other: PlaceHolder) => (this.#classOf(other.handler) ?? other.handler) === className
    return [
      ...this.#full({ of: 'queue', name: queue, key: null }, ofQueue, other => other.queue === queue),
      ...this.#full({ of: 'class', name: className, key: null }, ofClass, inClass),
      ...(ofClass === undefined || lane === ''
        ? []
        : this.#full(
            { of: 'key', name: className, key: lane },
            { limits: ofClass.perKey, starts: this.#byKey.get(keyOf('class', className, lane))?.starts ?? [] },
            other => inClass(other) && other.lane === lane,
          )),
    ]
  }

  #full(
    what: Pick<Limit, 'of' | 'name' | 'key'>,
    standing: Pick<LimitStanding, 'limits' | 'starts'> | undefined,
    belongs: (holder: PlaceHolder) => boolean,
  ): Limit[] {
    if (standing === undefined) return []
    const { concurrency, rate } = standing.limits
    const found: Limit[] = []
    const holders = concurrency === null ? [] : this.#facts.holders.filter(belongs)
    if (concurrency !== null && holders.length >= concurrency) {
      const named = holders.slice(0, mostNamed).map(holderOf)
      found.push({
        kind: 'limit',
        ...what,
        most: concurrency,
        perMs: null,
        running: holders.length,
        holders: named,
        until: null,
      })
    }
    if (rate !== null && startedSince(standing.starts, this.#facts.now, rate.perMs) >= rate.limit) {
      const until = toOptionalDate(nextStartAt(standing.starts, rate.limit, rate.perMs))
      found.push({ kind: 'limit', ...what, most: rate.limit, perMs: rate.perMs, running: 0, holders: [], until })
    }
    return found
  }
}

function holderOf({ workflowId, node, owner, startedAt }: PlaceHolder): LimitHolder {
  return { workflowId, node, worker: owner, since: toOptionalDate(startedAt) }
}

function keyOf(...parts: readonly string[]): string {
  return JSON.stringify(parts)
}
