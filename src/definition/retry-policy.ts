/**
 * Turns what users write for `retry` into a policy, decides after an error whether there is another attempt and when,
 * and puts a policy into a stored graph. What happens when there is none is for `onException` to say, not for this file.
 */
import { DefinitionError, isGenevaError, type RetryableError } from '../errors.ts'
import { type BackoffCurve, backoffMs } from '../primitives/backoff.ts'
import { retryAfterMs } from '../primitives/retry-after.ts'
import { definedDuration, refuseUnknownKeys } from './option-checks.ts'
import type { RetryNotation, RetryPolicy } from './retry-notation.ts'

type RetryOption = keyof Exclude<RetryNotation, number>

const curves: readonly string[] = ['exponential', 'linear', 'fixed'] satisfies BackoffCurve[]
const options = ['attempts', 'backoff', 'delay', 'maxDelay', 'jitter', 'retryIf'] as const satisfies RetryOption[]
const defaultAttempts = 3
const defaultDelayMs = 1_000
const defaultMaxDelayMs = 30_000

/** The user's notation with its defaults filled in. Throws `DefinitionError`, naming `where`. */
export function normalizeRetry(notation: unknown, where: string): RetryPolicy {
  const written = typeof notation === 'number' ? { attempts: notation } : notation
  if (typeof written !== 'object' || written === null || Array.isArray(written)) {
    throw new DefinitionError(
      `${where}: retry takes the number of attempts, or options: ${options.join(', ')}. Leave it out for no retries.`,
    )
  }
  refuseUnknownKeys(written, options, where)
  const { attempts, jitter, retryIf, ...waits } = written as Record<RetryOption, unknown>
  return Object.freeze({
    attempts: attempts === undefined ? defaultAttempts : attemptsIn(attempts, where),
    ...waitsIn(waits, where),
    jitter: jitter === undefined ? true : jitterIn(jitter, where),
    retryIf: retryIf === undefined ? null : retryIfIn(retryIf, where),
  })
}

type Waits = Pick<RetryPolicy, 'backoff' | 'delayMs' | 'maxDelayMs'>

function waitsIn(written: Record<'backoff' | 'delay' | 'maxDelay', unknown>, where: string): Waits {
  const backoff = written.backoff === undefined ? 'exponential' : backoffIn(written.backoff, where)
  if (typeof backoff === 'function' && written.delay !== undefined) {
    throw new DefinitionError(`${where}: a backoff function says itself how long the wait is, so leave out delay.`)
  }
  const delayMs =
    written.delay === undefined ? defaultDelayMs : definedDuration(written.delay, 'the delay of a retry', where)
  const unlessSaidMs = backoff === 'exponential' || backoff === 'linear' ? defaultMaxDelayMs : null
  const maxDelayMs =
    written.maxDelay === undefined ? unlessSaidMs : definedDuration(written.maxDelay, 'the maxDelay of a retry', where)
  if (written.delay !== undefined && maxDelayMs !== null && delayMs > maxDelayMs) {
    throw new DefinitionError(
      `${where}: the delay of ${delayMs} ms would be cut to a maxDelay of ${maxDelayMs} ms. Give a longer maxDelay.`,
    )
  }
  return { backoff, delayMs, maxDelayMs }
}

function attemptsIn(attempts: unknown, where: string): number {
  if (typeof attempts === 'number' && Number.isSafeInteger(attempts) && attempts >= 1) return attempts
  throw new DefinitionError(
    `${where}: the attempts of a retry count every call, the first included, so they must be a whole number of at least 1.`,
  )
}

function backoffIn(backoff: unknown, where: string): RetryPolicy['backoff'] {
  if (typeof backoff === 'function') return backoff as RetryPolicy['backoff']
  if (typeof backoff === 'string' && curves.includes(backoff)) return backoff as BackoffCurve
  throw new DefinitionError(`${where}: the backoff of a retry is ${curves.join(', ')} or a function of the failures.`)
}

function jitterIn(jitter: unknown, where: string): boolean {
  if (typeof jitter === 'boolean') return jitter
  throw new DefinitionError(`${where}: the jitter of a retry is true or false.`)
}

function retryIfIn(retryIf: unknown, where: string): RetryPolicy['retryIf'] {
  if (typeof retryIf === 'function') return retryIf as RetryPolicy['retryIf']
  throw new DefinitionError(`${where}: the retryIf of a retry is a function of the error that returns true or false.`)
}

/** What is known when a step has thrown. */
export interface FailedAttempt {
  readonly policy: RetryPolicy
  readonly error: unknown
  /** Failures in a row, this one included: from 1. */
  readonly failures: number
  /** From 0 to just below 1, like `Math.random`. */
  readonly random: () => number
  /** Milliseconds since 1970, for the dates that a service gives. */
  readonly now: number
}

export interface ResolvedRetry {
  /** Null: no further attempt, the exception policy acts. */
  readonly retry: { readonly delayMs: number } | null
  /** What went wrong in the user's own functions, boxed because anything can be thrown, also `undefined`. */
  readonly ruleError: { readonly thrown: unknown } | null
}

/**
 * Whether a step that threw is called again. Never throws: a function of the user's that fails means no retry, with its
 * own error beside the step's. An error that was made to steer is stronger than `retryIf`, which is not asked then: a
 * `PermanentError` is never retried, a `RetryableError` is as long as attempts are left, after its `retryAfter` if that
 * can be read. Such a wait was asked for by name, so neither `maxDelay` nor jitter changes it.
 */
export function resolveRetry(attempt: FailedAttempt): ResolvedRetry {
  try {
    return { retry: nextAttempt(attempt), ruleError: null }
  } catch (thrown) {
    return { retry: null, ruleError: { thrown } }
  }
}

function nextAttempt({ policy, error, failures, random, now }: FailedAttempt): ResolvedRetry['retry'] {
  if (failures >= policy.attempts || isGenevaError(error, 'PERMANENT')) return null
  if (isGenevaError(error, 'RETRYABLE')) {
    const askedMs = retryAfterMs((error as RetryableError).retryAfter, now)
    if (askedMs !== null) return { delayMs: askedMs }
  } else if (policy.retryIf !== null && !atOnce(policy.retryIf(error), 'retryIf')) return null
  const { backoff } = policy
  const waits =
    typeof backoff === 'function' ? { ...policy, backoff: (n: number) => atOnce(backoff(n), 'backoff') } : policy
  return { delayMs: backoffMs(waits, failures, random) }
}

/** A promise would count as true, and as a crash of the process should it be rejected with nobody listening. */
function atOnce<T>(answer: T, option: string): T {
  if (typeof (answer as PromiseLike<unknown> | undefined)?.then !== 'function') return answer
  Promise.resolve(answer).catch(() => undefined)
  throw new DefinitionError(
    `The ${option} of a retry returned a promise. It must answer at once: do what takes time in the step itself.`,
  )
}

/** A policy in a stored graph: plain JSON in the user's notation, with nothing left to a default that may change. */
export interface StoredRetry {
  readonly attempts: number
  readonly backoff: BackoffCurve
  readonly delay: number
  /** Left out where there is no limit. */
  readonly maxDelay?: number
  readonly jitter: boolean
}

/** Throws `DefinitionError`, naming `where`, for a policy with a function: code cannot be stored. */
export function storedRetry(policy: RetryPolicy, where: string): StoredRetry {
  const { attempts, backoff, delayMs, maxDelayMs, jitter, retryIf } = policy
  if (typeof backoff === 'function') throw unstorable('backoff', `Use ${curves.join(', ')}.`, where)
  if (retryIf !== null) throw unstorable('retryIf', 'Throw a PermanentError in the job instead.', where)
  return { attempts, backoff, delay: delayMs, ...(maxDelayMs === null ? {} : { maxDelay: maxDelayMs }), jitter }
}

/** The policy that `storedRetry` wrote, or somebody else by hand: checked like a new one. Throws `DefinitionError`. */
export function retryFromStored(json: unknown, where: string): RetryPolicy {
  const policy = normalizeRetry(json, where)
  storedRetry(policy, where)
  return policy
}

function unstorable(option: string, remedy: string, where: string): DefinitionError {
  return new DefinitionError(`${where}: the ${option} of a stored retry cannot be a function. ${remedy}`)
}
