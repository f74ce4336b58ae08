/**
 * What we need of `@opentelemetry/api`, by its shape: the package is handed in, never imported, so neither our code nor our
 * types ask for it. The module itself fits: `import * as api from '@opentelemetry/api'`.
 */

export interface OpenTelemetryApi {
  readonly trace: {
    getTracer(name: string, version?: string): Tracer
    setSpan(context: any, span: any): Context
    setSpanContext(context: any, spanContext: SpanContext): Context
  }
  readonly context: {
    active(): Context
    with<R>(context: any, work: () => R): R
  }
  readonly metrics: { getMeter(name: string, version?: string): Meter }
  readonly ROOT_CONTEXT: Context
  readonly SpanKind: { readonly PRODUCER: number; readonly CONSUMER: number }
  readonly SpanStatusCode: { readonly ERROR: number }
}

/** Opaque: it is only handed on. */
export type Context = object

export interface SpanContext {
  readonly traceId: string
  readonly spanId: string
  readonly traceFlags: number
  readonly isRemote?: boolean
}

export type Attributes = Record<string, string | number | boolean | string[]>

export interface Span {
  spanContext(): SpanContext
  setAttributes(attributes: Attributes): unknown
  addEvent(name: string): unknown
  recordException(exception: any): void
  setStatus(status: any): unknown
  end(): void
}

export interface Tracer {
  startSpan(name: string, options?: any, context?: any): Span
}

export interface Meter {
  createCounter(name: string, options?: any): { add(value: number, attributes?: any): void }
  createHistogram(name: string, options?: any): { record(value: number, attributes?: any): void }
  createObservableGauge(name: string, options?: any): object
  addBatchObservableCallback(callback: (result: any) => any, observables: any[]): void
  removeBatchObservableCallback(callback: (result: any) => any, observables: any[]): void
}
