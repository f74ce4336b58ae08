/** What users write for `retry`. How it is checked and what it comes to is in `retry-policy.ts`. */
import type { BackoffSettings } from '../primitives/backoff.ts'
import type { Duration } from '../primitives/duration.ts'

/** How often a step that throws is called again, and when. A number is the number of attempts. */
export type RetryNotation =
  | number
  | {
      /** How many times the step is called at most, the first call included. Default: 3. */
      readonly attempts?: number
      /**
       * How the wait grows with the number of failures in a row. `exponential` (the default) waits 2, 4, 8, 16, 30, 30 ...
       * seconds, `linear` 1, 2, 3 ..., `fixed` always the same; a function says how long, given the number of failures.
       */
      readonly backoff?: 'exponential' | 'linear' | 'fixed' | ((failures: number) => Duration)
      /** What the wait is a multiple of; with `fixed`, the wait itself. Default: 1 second. */
      readonly delay?: Duration
      /** No wait is longer. Default: 30 seconds where the wait grows by itself, none for `fixed` and a function. */
      readonly maxDelay?: Duration
      /** Adds up to a tenth to each wait, so that what failed together does not come back together. Default: true. */
      readonly jitter?: boolean
      /** Asked about each error; false means that it is not worth another attempt. Default: every error is. */
      readonly retryIf?: (error: any) => boolean
    }

/** A `retry` with everything filled in. Frozen. */
export interface RetryPolicy extends BackoffSettings {
  /** How many times the step is called at most, the first call included. */
  readonly attempts: number
  /** Null: every error is worth another attempt. */
  readonly retryIf: ((error: any) => boolean) | null
}
