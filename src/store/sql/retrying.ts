/**
 * Tries again what the database calls transient, with growing, jittered pauses. What lasts is thrown as it is.
 */
import { jittered, pauseFor } from '../../primitives/pause-for.ts'
import type { Dialect } from './dialect.ts'

export interface RetryLimits {
  readonly transient: number
  readonly connection: number
  /** How long it may be held up by others. Where there is one writer everybody waits for the same, so there it does not count. */
  readonly patienceMs?: number
  /** So often it is tried whatever time that takes: what is long by itself must not fail because of one deadlock at its end. Default: once. */
  readonly fewest?: number
}

/** Where there is one writer, enough for one that queues behind others for about half a minute. Elsewhere a single try may wait two seconds for a lock. */
const defaults: RetryLimits = { transient: 400, connection: 5, patienceMs: 60_000, fewest: 10 }

/** For those who would rather do something else than wait for others, or have nothing else to do: `Infinity`. */
export function retriesWithin(patienceMs: number | undefined): RetryLimits {
  return patienceMs === undefined ? defaults : { ...defaults, patienceMs, fewest: 1 }
}

/** For those who come again by themselves, and have other things to do meanwhile: a connection that breaks twice is enough for them, too. */
export function retriesInPassing(patienceMs: number | undefined): RetryLimits {
  return patienceMs === undefined ? defaults : { ...retriesWithin(patienceMs), connection: 1 }
}

/** For what has to be known before anything else may be done. */
export const untilAnswered: RetryLimits = { transient: Infinity, connection: Infinity }

const longestPauseMs = 5000

/** `work` gets the number of the try, from 1: after a lost connection an earlier try may have been committed. */
export async function retrying<T>(
  dialect: Dialect,
  work: (attempt: number) => Promise<T>,
  limits: RetryLimits = defaults,
): Promise<T> {
  let transient = 0
  let connection = 0
  const { patienceMs = Infinity, fewest = 1 } = limits
  const begun = performance.now()
  for (let attempt = 1; ; attempt++) {
    try {
      return await work(attempt)
    } catch (error) {
      const failure = dialect.classify(error)
      if (failure === 'transient') transient++
      const isHeldUp = transient >= fewest && hasLostPatience(dialect, begun, patienceMs)
      if (failure === 'transient' && !isHeldUp && transient <= limits.transient) {
        await pauseFor(jittered(Math.min(1 + transient, 100), 1))
      } else if (failure === 'connection' && ++connection <= limits.connection) {
        await pauseFor(jittered(Math.min(50 * 2 ** connection, longestPauseMs), 0.5))
      } else throw error
    }
  }
}

/** After something transient: whether others have kept it waiting since `begun` for so long that it should be told of it. */
export function hasLostPatience(dialect: Dialect, begun: number, patienceMs: number): boolean {
  return dialect.manyWriters === true && performance.now() - begun >= patienceMs
}
