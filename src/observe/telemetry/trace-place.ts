/**
 * A place in a trace as it is stored with a workflow: a `traceparent` as W3C has it, version 00. Nothing else of a caller's
 * context is kept: baggage may hold what should not rest in a database for months.
 */
import type { SpanContext } from './open-telemetry-api.ts'

const notation = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/
const nowhere = /^0+$/

/** `null` for the span of a tracer that does nothing. */
export function writeTrace({ traceId, spanId, traceFlags }: SpanContext): string | null {
  return nowhere.test(traceId) || nowhere.test(spanId)
    ? null
    : `00-${traceId}-${spanId}-${(traceFlags & 255).toString(16).padStart(2, '0')}`
}

/** `null` for anything but a place in a trace. */
export function readTrace(text: string | null | undefined): SpanContext | null {
  const [, traceId = '', spanId = '', flags = ''] = notation.exec(text ?? '') ?? []
  if (traceId === '' || nowhere.test(traceId) || nowhere.test(spanId)) return null
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }
}
