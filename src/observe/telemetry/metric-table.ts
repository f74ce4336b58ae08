/**
 * Every metric there is, by the name that OpenTelemetry has for it. The page for Prometheus derives its names from these, by
 * the rule that OpenTelemetry itself has for that. `docs/guides/telemetry.md` lists the same, and a test compares the two.
 */

export interface MetricFacts {
  readonly kind: 'counter' | 'histogram' | 'gauge'
  readonly help: string
  /** `s` for seconds; otherwise a mere number. */
  readonly unit: 's' | ''
  readonly labels: readonly string[]
  /** The upper bounds of the buckets of a histogram. */
  readonly bounds?: readonly number[]
}

const minute = 60
const hour = 60 * minute
const day = 24 * hour

/** From milliseconds, for steps that call nobody, to the hours of a large import. */
const stepBounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, minute, 5 * minute, 30 * minute, hour]
const workflowBounds = [0.1, 1, 10, minute, 10 * minute, hour, 6 * hour, day, 7 * day, 30 * day]

export const metricTable = {
  'geneva.workflows.started': counter('Workflows started by this process.', ['workflow']),
  'geneva.workflows.ended': counter('Workflows that have ended, by their final state.', ['workflow', 'state']),
  'geneva.workflows.paused': counter('Workflows that came to stand still, by the cause.', ['workflow', 'cause']),
  'geneva.executions.started': counter('Executions that a worker has begun or gone on with.', ['workflow', 'step']),
  'geneva.executions.ended': counter('Executions that have ended, by outcome.', ['workflow', 'step', 'outcome']),
  'geneva.executions.retried': counter('Executions that failed and are tried again.', ['workflow', 'step']),
  'geneva.executions.failed': counter('Executions that failed, by the class of the error.', [
    'workflow',
    'step',
    'error',
  ]),
  'geneva.compensations.started': counter('Attempts at undoing a step that a worker has begun.', ['workflow', 'step']),
  'geneva.compensations.ended': counter('Attempts at undoing a step that have ended, by outcome.', [
    'workflow',
    'step',
    'outcome',
  ]),
  'geneva.compensations.retried': counter('Attempts at undoing a step that failed and are made again.', [
    'workflow',
    'step',
  ]),
  'geneva.compensations.failed': counter('Attempts at undoing a step that failed, by the class of the error.', [
    'workflow',
    'step',
    'error',
  ]),
  'geneva.dead_letters.opened': counter('Work that was given up, by the reason.', ['workflow', 'step', 'reason']),
  'geneva.leases.lost': counter('Leases that a worker of this process has lost.', []),
  'geneva.claims.lost': counter('Results that were refused, because the claim was lost.', ['workflow', 'step']),
  'geneva.execution.wait': histogram(
    'From the time an execution is due to its start.',
    ['workflow', 'step'],
    stepBounds,
  ),
  'geneva.execution.duration': histogram(
    'From the first start of an execution to its end.',
    ['workflow', 'step'],
    stepBounds,
  ),
  'geneva.compensation.wait': histogram(
    'From the time an attempt at undoing a step is due to its start.',
    ['workflow', 'step'],
    stepBounds,
  ),
  'geneva.compensation.duration': histogram(
    'From the start of an attempt at undoing a step to its end.',
    ['workflow', 'step'],
    stepBounds,
  ),
  'geneva.workflow.duration': histogram(
    'From the start of a workflow to its end.',
    ['workflow', 'state'],
    workflowBounds,
  ),
  'geneva.executions.running': gauge('Executions that run in this process now.', []),
  'geneva.queue.due': gauge('Executions that are due and not claimed, in the whole database.', ['queue', 'handler']),
  'geneva.queue.age': gauge('For how long the oldest of them has been due.', ['queue', 'handler'], 's'),
  'geneva.workers': gauge('Workers of all processes, alive or silent past their lease.', ['state']),
  'geneva.pool.used': gauge('Connections of this process that are in use.', []),
  'geneva.pool.waiting': gauge('Calls of this process that wait for a connection.', []),
  'geneva.pool.limit': gauge('How many connections this process may have.', []),
} as const satisfies Record<string, MetricFacts>

export type MetricName = keyof typeof metricTable

type OfKind<Kind> = { [Name in MetricName]: (typeof metricTable)[Name]['kind'] extends Kind ? Name : never }[MetricName]

export type CounterName = OfKind<'counter'>
export type HistogramName = OfKind<'histogram'>
export type GaugeName = OfKind<'gauge'>

export type Labels = Readonly<Record<string, string>>

export const metricNames = Object.keys(metricTable) as MetricName[]

export function factsOf(name: MetricName): MetricFacts {
  return metricTable[name]
}

/** Takes measurements. It must not throw. */
export interface Meters {
  count(name: CounterName, labels: Labels): void
  record(name: HistogramName, labels: Labels, seconds: number): void
}

export interface GaugeReading {
  readonly name: GaugeName
  readonly labels: Labels
  readonly value: number
}

function counter(help: string, labels: readonly string[]) {
  return { kind: 'counter', help, unit: '', labels } as const
}

function gauge(help: string, labels: readonly string[], unit: 's' | '' = '') {
  return { kind: 'gauge', help, unit, labels } as const
}

function histogram(help: string, labels: readonly string[], bounds: readonly number[]) {
  return { kind: 'histogram', help, unit: 's', labels, bounds } as const
}
