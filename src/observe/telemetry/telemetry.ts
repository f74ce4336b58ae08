/**
 * Everything that one instance tells about itself, put together: spans, metrics and log lines, from events as they are
 * committed and from what workers notice. Where nothing was asked for there is no such object, and nothing is called.
 */
import type { Tracing } from '../../engine/tracing.ts'
import { InvalidArgumentError } from '../../errors.ts'
import { type Duration, toMilliseconds } from '../../primitives/duration.ts'
import { optionNames, refuseUnknownOptions } from '../../primitives/refuse-unknown-options.ts'
import { within } from '../../primitives/within.ts'
import type { CommittedEvent } from '../../store/event-store.ts'
import type { Store } from '../../store/store.ts'
import type { ErrorLog } from '../../worker/error-listener.ts'
import type { WorkerNotice, WorkerWatch } from '../../worker/worker-watch.ts'
import { Gauges } from './gauges.ts'
import { type Logger, LogLines } from './log-lines.ts'
import { measureEvents, stepLabel, workflowLabel } from './measure-events.ts'
import { MetricMemory } from './metric-memory.ts'
import type { GaugeReading, Meters } from './metric-table.ts'
import type { OpenTelemetryApi } from './open-telemetry-api.ts'
import { OpenTelemetryMeters } from './open-telemetry-meters.ts'
import { OpenTelemetryTraces, quietly } from './open-telemetry-traces.ts'
import { prometheusPage } from './prometheus-page.ts'

export interface TelemetryOptions {
  /** `import * as api from '@opentelemetry/api'`: spans and metrics go to whatever the application has set up there. */
  readonly openTelemetry?: OpenTelemetryApi
  /** Count in memory, for `geneva.metrics()`. Default false. */
  readonly metrics?: boolean
  /** How long after its start a workflow's attempts still belong to the trace of the start. Default 1 hour. */
  readonly linkAfter?: Duration
}

export interface ObserveOptions {
  readonly telemetry?: TelemetryOptions
  readonly logger?: Logger
}

const known = optionNames<TelemetryOptions>({ openTelemetry: 0, metrics: 0, linkAfter: 0 })
const scope = 'geneva-drive'
const defaultLinkMs = 3_600_000
/** How long the database may take to tell what waits. A page without that is better than none. */
const patienceMs = 3000

export class Telemetry implements WorkerWatch {
  readonly #memory: MetricMemory | null
  readonly #openMeters: OpenTelemetryMeters | null
  readonly #meters: readonly Meters[]
  readonly #traces: OpenTelemetryTraces | null
  readonly #lines: LogLines | null
  readonly #gauges = new Gauges()
  readonly #running = new Set<() => number>()
  #store: Store | null = null
  #stopObserving: () => void = () => {}

  /** `null` where nothing was asked for. Throws `InvalidArgumentError`. */
  static from(options: ObserveOptions): Telemetry | null {
    const { openTelemetry, metrics, linkAfter } = checked(options.telemetry)
    if (openTelemetry === undefined && metrics !== true && options.logger === undefined) return null
    const linkMs = linkAfter === undefined ? defaultLinkMs : toMilliseconds(linkAfter, '`linkAfter` of the telemetry')
    return new Telemetry(openTelemetry ?? null, linkMs, {
      lines: options.logger === undefined ? null : new LogLines(checkedLogger(options.logger)),
      memory: metrics === true ? new MetricMemory() : null,
    })
  }

  private constructor(
    api: OpenTelemetryApi | null,
    linkMs: number,
    { lines, memory }: { lines: LogLines | null; memory: MetricMemory | null },
  ) {
    this.#lines = lines
    this.#memory = memory
    this.#traces = api && new OpenTelemetryTraces(api, scope, linkMs)
    this.#openMeters = api && new OpenTelemetryMeters(api, scope)
    this.#meters = [this.#memory, this.#openMeters].filter(meters => meters !== null)
  }

  get tracing(): Tracing | null {
    return this.#traces
  }

  get errorLog(): ErrorLog | null {
    const lines = this.#lines
    return lines && ((error, ids) => lines.error(error, ids))
  }

  get looksForUnserved(): boolean {
    return this.#lines !== null
  }

  /** From now on queues and connections can be looked at. */
  opened(store: Store): void {
    this.#store = store
    this.#stopObserving = this.#openMeters?.observe(() => this.#readGauges()) ?? (() => {})
  }

  closed(): void {
    this.#store = null
    this.#stopObserving()
  }

  /** Events, right after their commit. */
  readonly heard = (events: readonly CommittedEvent[]): void => {
    quietly(() => this.#traces?.note(events))
    for (const meters of this.#meters) quietly(() => measureEvents(events, meters))
    quietly(() => this.#lines?.events(events))
  }

  tell(notice: WorkerNotice): void {
    if (notice.kind === 'started') this.#running.add(notice.running)
    if (notice.kind === 'stopped') this.#running.delete(notice.running)
    for (const meters of this.#meters) quietly(() => measureNotice(notice, meters))
    this.#lines?.notice(notice)
  }

  /** The page for Prometheus. Without an answer of the database it shows what this process knows alone. */
  async page(): Promise<string | null> {
    return this.#memory && prometheusPage(this.#memory, await this.#readGauges())
  }

  async #readGauges(): Promise<readonly GaugeReading[]> {
    const running = [...this.#running].reduce((sum, count) => sum + count(), 0)
    let readings = await this.#gauges.read(null, running)
    const read = this.#gauges.read(this.#store, running).then(all => {
      readings = all
    })
    await within(
      read.catch(() => {}),
      patienceMs,
    )
    return readings
  }
}

/** The page of an instance that may have none. */
export async function metricsPage(telemetry: Telemetry | null): Promise<string> {
  const page = await telemetry?.page()
  if (typeof page === 'string') return page
  throw new InvalidArgumentError('Nothing is counted. Turn it on: `new Geneva({ telemetry: { metrics: true } })`.')
}

function measureNotice(notice: WorkerNotice, meters: Meters): void {
  if (notice.kind === 'lease lost') meters.count('geneva.leases.lost', {})
  if (notice.kind !== 'claim lost') return
  const { workflow, execution } = notice.claimed
  meters.count('geneva.claims.lost', { workflow: workflowLabel(workflow.type), step: stepLabel(execution) })
}

function checked(options: TelemetryOptions = {}): TelemetryOptions {
  refuseUnknownOptions('The telemetry', options, known)
  const api = options.openTelemetry
  if (
    api !== undefined &&
    (typeof api?.trace?.getTracer !== 'function' || typeof api.metrics?.getMeter !== 'function')
  ) {
    throw new InvalidArgumentError(
      "`telemetry.openTelemetry` must be the API of OpenTelemetry: `import * as api from '@opentelemetry/api'`.",
    )
  }
  return options
}

function checkedLogger(logger: Logger): Logger {
  const levels = ['debug', 'info', 'warn', 'error'] as const
  const missing = levels.find(level => typeof logger?.[level] !== 'function')
  if (missing === undefined) return logger
  throw new InvalidArgumentError(
    `The \`logger\` of a Geneva must have the methods ${levels.join(', ')}; it has no ${missing}.`,
  )
}
