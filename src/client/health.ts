/**
 * Whether this process can do its work, for probes and for people. It never throws, and it never waits for long: a database
 * that does not answer is an answer.
 */
import { describeError } from '../primitives/describe-error.ts'
import { within } from '../primitives/within.ts'
import type { Store } from '../store/store.ts'
import type { Worker } from '../worker/worker.ts'

export type HealthStatus = 'ok' | 'degraded' | 'down'

export interface Health {
  /** The process turns. If this is not answered, restart it; nothing else is a reason to. */
  readonly live: true
  /** It can take requests: the database answers, its tables fit this code, and its workers hold their leases. */
  readonly ready: boolean
  /** `degraded`: it works, but somebody should look at the problems. */
  readonly status: HealthStatus
  readonly problems: readonly string[]
  readonly database: { readonly reachable: boolean; readonly latencyMs: number | null; readonly error: string | null }
  readonly workers: {
    /** In all processes. */
    readonly alive: number
    /** In this process. */
    readonly here: number
    readonly healthyHere: number
  }
  readonly queues: { readonly due: number; readonly oldestMs: number | null }
}

/** How long the database may take. */
const patienceMs = 5000
/** What is due for longer than this deserves a look. */
const lateMs = 60_000

const unknown: Pick<Health, 'queues'> & { readonly alive: number; readonly problems: readonly string[] } = {
  alive: 0,
  problems: [],
  queues: { due: 0, oldestMs: null },
}

export async function health(open: () => Promise<Store>, workers: readonly Worker[]): Promise<Health> {
  const database: { reachable: boolean; latencyMs: number | null; error: string | null } = {
    reachable: false,
    latencyMs: null,
    error: `No answer within ${patienceMs} ms.`,
  }
  let found = unknown
  const look = async () => {
    const store = await open()
    const since = performance.now()
    await store.checkSchema()
    Object.assign(database, { reachable: true, latencyMs: Math.round(performance.now() - since), error: null })
    found = await lookAround(store)
  }
  await within(
    look().catch(error => {
      const { className, message } = describeError(error)
      database.error = `${className}: ${message}`
    }),
    patienceMs,
  )
  const healthyHere = workers.filter(worker => worker.healthy).length
  const silent = workers.length - healthyHere
  const own = silent === 0 ? [] : [`${silent} of ${workers.length} workers of this process hold no lease.`]
  const ready = database.reachable && database.error === null && silent === 0
  const problems = [...(database.error === null ? [] : [database.error]), ...own, ...found.problems]
  return {
    live: true,
    ready,
    status: ready ? (problems.length === 0 ? 'ok' : 'degraded') : 'down',
    problems,
    database,
    workers: { alive: found.alive, here: workers.length, healthyHere },
    queues: found.queues,
  }
}

async function lookAround(store: Store): Promise<typeof unknown> {
  const { alive, lapsed } = await store.housekeeping.workerCounts()
  const depths = await store.housekeeping.queueDepths()
  const now = await store.now()
  const [oldest] = depths
  const oldestMs = oldest === undefined ? null : Math.max(0, Math.round((now - oldest.oldestDueAt) / 1000))
  const problems: string[] = []
  if (alive === 0) problems.push('No worker is alive, in any process.')
  if (lapsed > 0) problems.push(`${lapsed} workers have lost their lease and are not yet buried.`)
  if (oldest !== undefined && (oldestMs ?? 0) > lateMs) {
    problems.push(`${oldest.handler} in queue ${oldest.queue} is due for ${oldestMs} ms and not claimed.`)
  }
  return { alive, problems, queues: { due: depths.reduce((sum, each) => sum + each.due, 0), oldestMs } }
}
