/**
 * How executions fared over a stretch of time, and what waits now. Numbers are taken over the newest executions of the
 * stretch, up to a limit, so that the question costs the same however much history there is.
 */
import { InvalidArgumentError } from '../errors.ts'
import { type Duration, toMilliseconds } from '../primitives/duration.ts'
import { optionNames, refuseUnknownOptions } from '../primitives/refuse-unknown-options.ts'
import type { NodeTimes, Percentiles } from '../store/housekeeping-store.ts'
import type { Store } from '../store/store.ts'

export interface StatsOptions {
  /** How far back to look, or from when. Default 1 hour. */
  readonly since?: Duration | Date
  /** Over how many executions at most, the newest first. Default 100,000. */
  readonly sample?: number
}

const known = optionNames<StatsOptions>({ since: 0, sample: 0 })

/** Milliseconds. */
export interface Spread {
  readonly p50: number
  readonly p95: number
  readonly p99: number
  readonly max: number
  readonly total: number
}

export interface NodeStats {
  readonly workflow: string
  readonly step: string
  readonly executions: number
  readonly failed: number
  /** From the start of an execution to its end. */
  readonly took: Spread
  /** From the time that it was due to its start. */
  readonly waited: Spread
}

export interface FailureStats {
  readonly workflow: string
  readonly step: string
  readonly outcome: string
  readonly errorClass: string | null
  readonly count: number
}

export interface QueueStats {
  readonly queue: string
  /** The code that is waited for: a class or a job. */
  readonly handler: string
  readonly due: number
  readonly oldestMs: number
}

export interface Stats {
  readonly since: Date
  readonly until: Date
  readonly executions: number
  /** There were more than the sample takes. */
  readonly sampled: boolean
  /** Longest first, by what 95 of 100 executions stay below. */
  readonly slowest: readonly NodeStats[]
  /** Where most time was spent waiting for a worker, all executions together. */
  readonly bottlenecks: readonly NodeStats[]
  /** Most frequent first. */
  readonly failures: readonly FailureStats[]
  /** What is due and not claimed at this moment, oldest first. */
  readonly queues: readonly QueueStats[]
}

export async function stats(store: Store, options: StatsOptions = {}): Promise<Stats> {
  refuseUnknownOptions('stats', options, known)
  const { since = '1 hour', sample = 100_000 } = options
  if (!Number.isSafeInteger(sample) || sample < 1) {
    throw new InvalidArgumentError(`The sample of stats must be a whole number above 0, not ${String(sample)}.`)
  }
  const now = await store.now()
  const from = since instanceof Date ? since.getTime() * 1000 : now - toMilliseconds(since, '`since` of stats') * 1000
  if (!Number.isFinite(from)) throw new InvalidArgumentError('`since` of stats must be a valid Date or a duration.')
  const { housekeeping } = store
  const nodes = (await housekeeping.nodeTimes(from, sample)).map(nodeStats)
  const failures = await housekeeping.failureCounts(from, sample)
  const queues = await housekeeping.queueDepths()
  const executions = nodes.reduce((sum, node) => sum + node.executions, 0)
  return {
    since: new Date(Math.floor(from / 1000)),
    until: new Date(Math.floor(now / 1000)),
    executions,
    sampled: executions >= sample,
    slowest: nodes.toSorted((a, b) => b.took.p95 - a.took.p95),
    bottlenecks: nodes.filter(node => node.waited.total > 0).toSorted((a, b) => b.waited.total - a.waited.total),
    failures: failures.map(({ type, node, ...rest }) => ({ workflow: type, step: node, ...rest })),
    queues: queues.map(({ queue, handler, due, oldestDueAt }) => ({
      queue,
      handler,
      due,
      oldestMs: Math.max(0, Math.round((now - oldestDueAt) / 1000)),
    })),
  }
}

function nodeStats({ type, node, count, failed, took, waited }: NodeTimes): NodeStats {
  return { workflow: type, step: node, executions: count, failed, took: spread(took), waited: spread(waited) }
}

function spread({ p50, p95, p99, max, total }: Percentiles): Spread {
  const ms = (micros: number) => micros / 1000
  return { p50: ms(p50), p95: ms(p95), p99: ms(p99), max: ms(max), total: ms(total) }
}
