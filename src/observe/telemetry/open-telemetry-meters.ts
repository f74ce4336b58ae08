/** Hands measurements to the metrics of OpenTelemetry. Gauges are read when its reader asks for them. */
import {
  type CounterName,
  factsOf,
  type GaugeName,
  type GaugeReading,
  type HistogramName,
  type Labels,
  type Meters,
  type MetricName,
  metricNames,
} from './metric-table.ts'
import type { Meter, OpenTelemetryApi } from './open-telemetry-api.ts'
import { quietly } from './open-telemetry-traces.ts'

export class OpenTelemetryMeters implements Meters {
  readonly #meter: Meter
  readonly #counters: ReadonlyMap<MetricName, ReturnType<Meter['createCounter']>>
  readonly #histograms: ReadonlyMap<MetricName, ReturnType<Meter['createHistogram']>>
  readonly #gauges: ReadonlyMap<MetricName, object>

  constructor(api: OpenTelemetryApi, name: string) {
    const meter = api.metrics.getMeter(name)
    this.#meter = meter
    this.#counters = ofKind('counter', (title, options) => meter.createCounter(title, options))
    this.#histograms = ofKind('histogram', (title, options) => meter.createHistogram(title, options))
    this.#gauges = ofKind('gauge', (title, options) => meter.createObservableGauge(title, options))
  }

  count(name: CounterName, labels: Labels): void {
    quietly(() => this.#counters.get(name)?.add(1, labels))
  }

  record(name: HistogramName, labels: Labels, seconds: number): void {
    quietly(() => this.#histograms.get(name)?.record(seconds, labels))
  }

  /** Returns a function that ends it. */
  observe(read: () => Promise<readonly GaugeReading[]>): () => void {
    const observables = [...this.#gauges.values()]
    const callback = async (result: { observe(gauge: object, value: number, labels: Labels): void }) => {
      const readings = await read().catch(() => [])
      for (const { name, labels, value } of readings) this.#observe(result, name, [labels, value])
    }
    quietly(() => this.#meter.addBatchObservableCallback(callback, observables))
    return () => void quietly(() => this.#meter.removeBatchObservableCallback(callback, observables))
  }

  #observe(
    result: { observe(gauge: object, value: number, labels: Labels): void },
    name: GaugeName,
    [labels, value]: readonly [Labels, number],
  ): void {
    const gauge = this.#gauges.get(name)
    if (gauge) quietly(() => result.observe(gauge, value, labels))
  }
}

function ofKind<T>(kind: string, create: (name: string, options: object) => T): Map<MetricName, T> {
  const names = metricNames.filter(name => factsOf(name).kind === kind)
  return new Map(
    names.map(name => {
      const { help, unit, bounds } = factsOf(name)
      const advice = bounds === undefined ? {} : { advice: { explicitBucketBoundaries: [...bounds] } }
      return [name, create(name, { description: help, ...(unit === '' ? {} : { unit }), ...advice })]
    }),
  )
}
