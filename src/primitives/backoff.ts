/**
 * How long to wait before a failed call is made again: the one place that knows the formula. It reads no clock, draws
 * no random number of its own and decides nothing about whether there is a next call.
 */
import { type Duration, toMilliseconds } from './duration.ts'

/** The waits that need no code: with a `delayMs` of one second they are 2, 4, 8 ..., 1, 2, 3 ... and 1, 1, 1 ... seconds. */
export type BackoffCurve = 'exponential' | 'linear' | 'fixed'

export interface BackoffSettings {
  readonly backoff: BackoffCurve | ((failures: number) => Duration)
  /** What a curve multiplies. A function does not look at it. */
  readonly delayMs: number
  /** No wait is longer, but for its jitter; null: no limit. */
  readonly maxDelayMs: number | null
  /** Whether up to a tenth is added, so that calls that failed together do not come back together. */
  readonly jitter: boolean
}

/**
 * Whole milliseconds to wait after so many failures in a row, the one just met included. Jitter comes after the limit
 * and only ever adds. Throws what a function throws, and `InvalidArgumentError` when it returns no duration.
 */
export function backoffMs(settings: BackoffSettings, failures: number, random: () => number): number {
  const waitMs = Math.min(onCurve(settings, failures), settings.maxDelayMs ?? Number.POSITIVE_INFINITY)
  return settings.jitter ? waitMs + Math.floor((waitMs * random()) / 10) : waitMs
}

function onCurve({ backoff, delayMs }: BackoffSettings, failures: number): number {
  if (typeof backoff === 'function') return toMilliseconds(backoff(failures), 'what the backoff function returned')
  if (backoff === 'fixed') return delayMs
  return delayMs * (backoff === 'linear' ? failures : 2 ** Math.min(failures, longestExponent))
}

/** 2^50 ms are more than any limit; without an end, a delay of 0 would some day be multiplied by infinity. */
const longestExponent = 50
