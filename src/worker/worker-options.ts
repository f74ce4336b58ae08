/**
 * How a worker works, with defaults.
 */
import { InvalidArgumentError } from '../errors.ts'
import { type Duration, toMilliseconds } from '../primitives/duration.ts'
import { optionNames, refuseUnknownOptions } from '../primitives/refuse-unknown-options.ts'

export interface WorkerOptions {
  /** Most steps that run at once in this worker. Default 50. */
  readonly concurrency?: number
  /** The queues to serve, or a limit for each. Default: every queue that the code names or has named. */
  readonly queues?: readonly string[] | Readonly<Record<string, number>>
  /** How long a silent worker is believed to be alive. Default 10 seconds. */
  readonly lease?: Duration
  /** How often the lease is renewed. Default: a tenth of the lease. */
  readonly heartbeat?: Duration
  /** Let a thread renew the lease while the event loop is busy. Default true, where the database can be opened from a thread. */
  readonly heartbeatThread?: boolean
  /** How often to look for work that nobody announced. Default 200 ms. */
  readonly poll?: Duration
  /** How long running steps may go on after a request to shut down. Default 20 seconds. */
  readonly grace?: Duration
  /** How long a node waits for a worker that has its job, before it fails. Default 60 seconds. */
  readonly missingJob?: Duration
}

export interface WorkerSettings {
  readonly concurrency: number
  /** `null`: all queues. A queue without a limit of its own shares the worker's. */
  readonly queues: ReadonlyMap<string, number | null> | null
  readonly leaseMs: number
  readonly heartbeatMs: number
  readonly heartbeatThread: boolean
  readonly pollMs: number
  readonly graceMs: number
  readonly missingJobMs: number
}

const known = optionNames<WorkerOptions>({
  concurrency: 0,
  queues: 0,
  lease: 0,
  heartbeat: 0,
  heartbeatThread: 0,
  poll: 0,
  grace: 0,
  missingJob: 0,
})

/** `others`: what the verb that makes the worker takes for itself. */
export function workerSettings(options: WorkerOptions = {}, others: readonly string[] = []): WorkerSettings {
  refuseUnknownOptions('A worker', options, [...known, ...others])
  const leaseMs = toMilliseconds(options.lease ?? 10_000, 'The lease of a worker')
  const heartbeatMs = toMilliseconds(options.heartbeat ?? Math.ceil(leaseMs / 10), 'The heartbeat of a worker')
  if (heartbeatMs * 2 > leaseMs) {
    throw new InvalidArgumentError(
      `A heartbeat of ${heartbeatMs} ms is too slow for a lease of ${leaseMs} ms. It must fit in at least twice.`,
    )
  }
  return {
    concurrency: positive(options.concurrency ?? 50, 'The concurrency of a worker'),
    queues: queueLimits(options.queues),
    leaseMs,
    heartbeatMs,
    heartbeatThread: options.heartbeatThread ?? true,
    pollMs: Math.max(1, toMilliseconds(options.poll ?? 200, 'The poll interval of a worker')),
    missingJobMs: toMilliseconds(options.missingJob ?? 60_000, 'The wait for a missing job'),
    graceMs: toMilliseconds(options.grace ?? 20_000, 'The grace time of a worker'),
  }
}

function queueLimits(queues: WorkerOptions['queues']): WorkerSettings['queues'] {
  if (queues === undefined) return null
  const entries: [string, number | null][] = Array.isArray(queues)
    ? queues.map(name => [name, null])
    : Object.entries(queues).map(([name, limit]) => [name, positive(limit, `The limit of queue ${name}`)])
  if (entries.length === 0 || entries.some(([name]) => typeof name !== 'string' || name === '')) {
    throw new InvalidArgumentError('The `queues` of a worker must name at least one queue.')
  }
  return new Map(entries)
}

function positive(value: unknown, what: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) return value
  throw new InvalidArgumentError(`${what} must be a whole number above 0, not ${String(value)}.`)
}

export interface DrainOptions {
  readonly maxMs?: number | undefined
  readonly workflowId?: string | undefined
  /** Stop after so many steps have been claimed, and let none run on. */
  readonly maxSteps?: number | undefined
  /** Interrupt every resumable step after so many items. For the test kit. */
  readonly maxItems?: number | undefined
}
