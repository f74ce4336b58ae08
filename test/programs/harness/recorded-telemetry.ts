/** OpenTelemetry set up as an application would, with spans and metrics kept in memory. For one process, or one test file. */
import * as api from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'

/** A span, as far as tests look at it. */
export interface SeenSpan {
  readonly name: string
  readonly kind: 'producer' | 'consumer' | 'internal'
  readonly traceId: string
  readonly spanId: string
  readonly parentId: string | null
  /** The spans that it links to. */
  readonly links: readonly string[]
  readonly attributes: Readonly<Record<string, unknown>>
  readonly error: string | null
  readonly exceptions: readonly string[]
}

export interface SeenMetric {
  readonly labels: Readonly<Record<string, unknown>>
  /** Of a histogram: how many values. */
  readonly value: number
}

export class RecordedTelemetry {
  readonly api = api
  readonly #spans = new InMemorySpanExporter()
  readonly #metrics = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  readonly #reader = new PeriodicExportingMetricReader({ exporter: this.#metrics, exportIntervalMillis: 3_600_000 })
  readonly #meters = new MeterProvider({ readers: [this.#reader] })

  constructor() {
    const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(this.#spans)] })
    api.trace.setGlobalTracerProvider(provider)
    api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
    api.metrics.setGlobalMeterProvider(this.#meters)
  }

  spans(): SeenSpan[] {
    return this.#spans.getFinishedSpans().map(seenSpan)
  }

  forgetSpans(): void {
    this.#spans.reset()
  }

  async metric(name: string): Promise<SeenMetric[]> {
    await this.#reader.forceFlush()
    const latest = this.#metrics.getMetrics().at(-1)
    const found =
      latest?.scopeMetrics.flatMap(scope => scope.metrics).filter(each => each.descriptor.name === name) ?? []
    return found.flatMap(metric =>
      metric.dataPoints.map(({ attributes, value }) => ({
        labels: attributes,
        value: typeof value === 'number' ? value : value.count,
      })),
    )
  }

  async end(): Promise<void> {
    api.trace.disable()
    api.context.disable()
    api.metrics.disable()
    await this.#meters.shutdown()
  }
}

function seenSpan(span: ReadableSpan): SeenSpan {
  const { traceId, spanId } = span.spanContext()
  const kinds = new Map([
    [api.SpanKind.PRODUCER, 'producer' as const],
    [api.SpanKind.CONSUMER, 'consumer' as const],
  ])
  return {
    name: span.name,
    kind: kinds.get(span.kind) ?? 'internal',
    traceId,
    spanId,
    parentId: span.parentSpanContext?.spanId ?? null,
    links: span.links.map(link => link.context.spanId),
    attributes: span.attributes,
    error: span.status.code === api.SpanStatusCode.ERROR ? (span.status.message ?? '') : null,
    exceptions: span.events.map(event => String(event.attributes?.['exception.message'] ?? event.name)),
  }
}
