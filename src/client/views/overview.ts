/**
 * How everything is, at a glance: counts by state up to a bound, queues, workers, what waits for people, and the charts. Taken
 * once for all who look.
 */
import type { Engine } from '../../engine/engine.ts'
import type { WorkflowState } from '../../store/records.ts'
import type { Store } from '../../store/store.ts'
import type { QueueStatus, Queues } from '../queues.ts'
import { listApprovals } from './approvals.ts'
import { listWorkers, type WorkerStatus } from './process-views.ts'
import type { Series, SeriesPoint } from './series.ts'
import { countCap } from './workflow-summary.ts'

/** What is counted: dearer than the charts, and looked at less often where it takes long. */
export interface Standing {
  /** When it was counted. */
  readonly at: Date
  readonly states: Readonly<Record<WorkflowState, number>>
  /** Some count has stopped: at 10,000, and for `finished` after the newest 40,000 workflows. Those are at least so many. */
  readonly capped: boolean
  readonly cappedStates: readonly WorkflowState[]
  readonly queues: readonly QueueStatus[]
  readonly deadLetters: number
  /** Up to 100. */
  readonly approvals: number
  /** Of all queues. */
  readonly oldestDueMs: number | null
}

export interface Charts {
  /** Over the last minute. */
  readonly throughput: { readonly stepsPerSecond: number; readonly workflowsPerMinute: number }
  /** Over the last hour, as far as it is known. */
  readonly failures: number
  readonly workers: readonly WorkerStatus[]
  readonly series: readonly SeriesPoint[]
}

export type Overview = Standing & Charts

const states: readonly WorkflowState[] = ['paused', 'dlq', 'rolling_back', 'finished', 'failed', 'canceled', 'aborted']
const approvalsCounted = 100

export async function standingOf(engine: Engine, queues: Queues): Promise<Standing> {
  const { views } = engine.store
  const counts = {} as Record<WorkflowState, number>
  const cappedStates: WorkflowState[] = []
  for (const state of states) {
    const { count, more } = await views.countState(state, countCap)
    counts[state] = count
    if (more) cappedStates.push(state)
  }
  const [active, performing] = [await views.countState('ready', countCap), await views.countPerforming(countCap)]
  counts.performing = Math.min(active.count, performing)
  counts.ready = active.count - counts.performing
  if (active.more) cappedStates.push('ready')
  if (performing >= countCap) cappedStates.push('performing')
  const standing = await queues.list()
  const ages = standing.filter(({ due }) => due > 0).map(({ ageMs }) => ageMs)
  return {
    at: new Date(),
    states: counts,
    capped: cappedStates.length > 0,
    cappedStates,
    queues: standing,
    deadLetters: await views.countOpenLetters(countCap),
    approvals: (await listApprovals(engine, { limit: approvalsCounted })).items.length,
    oldestDueMs: ages.length === 0 ? null : Math.round(Math.max(...ages)),
  }
}

export async function chartsOf(store: Store, series: Series): Promise<Charts> {
  const points = await series.look(store)
  return {
    throughput: throughputOf(points),
    failures: points.reduce((sum, { failed }) => sum + failed, 0),
    workers: await listWorkers(store),
    series: points,
  }
}

/** Of the stretch that is over and the one that goes on. */
function throughputOf(points: readonly SeriesPoint[]): Charts['throughput'] {
  const last = points.slice(-2)
  const steps = last.reduce((sum, { stepsPerSecond }) => sum + stepsPerSecond, 0) / Math.max(1, last.length)
  return {
    stepsPerSecond: Math.round(steps * 10) / 10,
    workflowsPerMinute: last.reduce((sum, { finished }) => sum + finished, 0),
  }
}
