/**
 * What an application asks of its queues: what stands in them, pause, resume, other limits. All of it is durable and holds for
 * every process, and it is recorded who asked and why; a queue exists as soon as somebody names it.
 */
import type { LimitOptions } from '../definition/limit-options.ts'
import { toDate } from '../primitives/to-date.ts'
import type { LimitRecord, QueueCount } from '../store/limit-store.ts'
import type { Opened } from './connection.ts'
import { queueLimits, queueName } from './declared-limits.ts'
import { type RequestOptions, requestFrom } from './request-options.ts'

export interface QueueStatus {
  readonly name: string
  readonly paused: boolean
  readonly pausedBy: string | null
  readonly pauseReason: string | null
  readonly pausedAt: Date | null
  readonly concurrency: number | null
  readonly rate: { readonly limit: number; readonly perMs: number } | null
  /** Executions that a worker holds. */
  readonly running: number
  /** Executions that are due and that nobody has claimed. */
  readonly due: number
  /** Executions that are due later. */
  readonly later: number
  /** How long the oldest of those that are due has waited; 0 where there is none. */
  readonly ageMs: number
}

export class Queues {
  readonly #open: () => Promise<Opened>

  constructor(open: () => Promise<Opened>) {
    this.#open = open
  }

  /** Every queue in which something stands, or that has limits or is paused, by name. */
  async list(): Promise<QueueStatus[]> {
    const { limits } = (await this.#open()).engine.store
    const [rules, { now, queues }] = [await limits.read(), await limits.counts()]
    const ofQueues = new Map(rules.limits.filter(({ scope }) => scope === 'queue').map(limit => [limit.name, limit]))
    const counts = new Map(queues.map(count => [count.queue, count]))
    const names = new Set([...ofQueues.keys(), ...counts.keys()])
    return [...names]
      .toSorted()
      .map(name => statusOf(name, { limit: ofQueues.get(name), count: counts.get(name), now }))
  }

  /** From now on no execution of the queue begins, in any process. What runs goes on. */
  async pause(name: string, options?: RequestOptions): Promise<void> {
    const asked = requestFrom(options)
    await (await this.#open()).engine.store.limits.pause(queueName(name), asked)
  }

  /** What has fallen due meanwhile begins, in the order in which it stands in line. Does nothing if the queue is not paused. */
  async resume(name: string, options?: RequestOptions): Promise<void> {
    const asked = requestFrom(options)
    const { engine } = await this.#open()
    if (await engine.store.limits.resume(queueName(name), asked)) engine.ends.noteWork()
  }

  /** Other limits, for every process and at once, until a deploy declares new ones; `{}` takes them away. */
  async limit(name: string, limits: LimitOptions, options?: RequestOptions): Promise<void> {
    const asked = requestFrom(options)
    const { engine } = await this.#open()
    await engine.store.limits.set(queueName(name), queueLimits(name, limits), asked)
    engine.ends.noteWork()
  }
}

interface Known {
  readonly limit: LimitRecord | undefined
  readonly count: QueueCount | undefined
  readonly now: number
}

function statusOf(name: string, { limit, count, now }: Known): QueueStatus {
  const { paused = null } = limit ?? {}
  const oldest = count?.oldestDueAt ?? null
  return {
    name,
    paused: paused !== null,
    pausedBy: paused?.by ?? null,
    pauseReason: paused?.reason ?? null,
    pausedAt: paused === null ? null : toDate(paused.at),
    concurrency: limit?.limits.concurrency ?? null,
    rate: limit?.limits.rate ?? null,
    running: count?.running ?? 0,
    due: count?.due ?? 0,
    later: count?.later ?? 0,
    ageMs: oldest === null ? 0 : Math.max(0, (now - oldest) / 1000),
  }
}
