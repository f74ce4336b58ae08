/** Errors that users throw themselves, to say how an attempt is to be taken. */
import { GenevaError } from './geneva-error.ts'

/**
 * How long a service asked to be left alone: milliseconds, a duration such as `'5 min'` or `{ minutes: 5 }`, or what its
 * `Retry-After` header says, seconds as text or a date. Null and undefined stand for a header that was not sent.
 */
export type RetryAfter =
  | number
  | string
  | {
      readonly weeks?: number
      readonly days?: number
      readonly hours?: number
      readonly minutes?: number
      readonly seconds?: number
      readonly milliseconds?: number
    }
  | null
  | undefined

export interface RetryableErrorOptions extends ErrorOptions {
  /** Replaces the wait that `retry` would come to, up to 24 hours. What cannot be read is ignored. */
  readonly retryAfter?: RetryAfter
}

/** Thrown by a step to say that another attempt may help, whatever its `retryIf` thinks; `attempts` still counts. */
export class RetryableError extends GenevaError {
  readonly retryAfter: RetryAfter
  constructor(message: string, { retryAfter, ...options }: RetryableErrorOptions = {}) {
    super('RETRYABLE', message, options)
    this.retryAfter = retryAfter
  }
}

/** Thrown by a step to say that no further attempt can help: `onException` acts at once, however many are left. */
export class PermanentError extends GenevaError {
  constructor(message: string, options?: ErrorOptions) {
    super('PERMANENT', message, options)
  }
}
