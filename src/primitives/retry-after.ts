/**
 * Reads how long a service asked to be left alone, as its client library or its `Retry-After` header said it. Whatever
 * it does not understand is null, never an error: a service's odd header is no reason for a step to fail otherwise.
 */
import { type Duration, toMilliseconds } from './duration.ts'

/** A service that asks for more is asked again after a day: its answer may be a mistake, and nobody would notice. */
export const longestRetryAfterMs = 24 * 60 * 60 * 1_000

/**
 * Whole milliseconds from 0 to 24 hours. A number is milliseconds; text is a header (seconds, or a date to compare with
 * `now`, in milliseconds since 1970) or a duration such as `'5 min'`. Null for what is negative, past or unreadable.
 */
export function retryAfterMs(value: unknown, now: number): number | null {
  const ms = rawMs(value, now)
  return ms >= 0 ? Math.min(Math.ceil(ms), longestRetryAfterMs) : null
}

function rawMs(value: unknown, now: number): number {
  if (typeof value === 'number') return Number.isFinite(value) ? value : Number.NaN
  if (typeof value !== 'string') return durationMs(value)
  const text = value.trim()
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1_000
  const time = httpTime(text)
  return Number.isNaN(time) ? durationMs(text) : time - now
}

const webDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/
const formerDate = /^[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/
const dateInC = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/

/** The three forms that RFC 9110 tells a client to accept. `Date.parse` alone would take 'May 5' for a date, too. */
function httpTime(text: string): number {
  if (webDate.test(text) || formerDate.test(text)) return Date.parse(text)
  return dateInC.test(text) ? Date.parse(`${text} GMT`) : Number.NaN
}

function durationMs(value: unknown): number {
  try {
    return toMilliseconds(value as Duration, 'retryAfter')
  } catch {
    return Number.NaN
  }
}
