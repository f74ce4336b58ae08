/** How a node of a stored graph says when it is retried: in the user's notation, without functions, in milliseconds. */
import { DefinitionError } from '../errors.ts'
import { definedDuration, refuseUnknownKeys } from './option-checks.ts'
import type { RetryNotation } from './retry-notation.ts'

type RetryOptions = Exclude<RetryNotation, number>

/** What may stand in a graph, where code cannot: no backoff function and no `retryIf`. */
export type StorableRetry =
  | number
  | (Omit<RetryOptions, 'backoff' | 'retryIf'> & {
      readonly backoff?: Exclude<RetryOptions['backoff'], (...args: any[]) => unknown>
    })

export interface StoredRetry {
  readonly attempts?: number
  readonly backoff?: 'exponential' | 'linear' | 'fixed'
  readonly delay?: number
  readonly maxDelay?: number
  readonly jitter?: boolean
}

const curves: readonly unknown[] = ['exponential', 'linear', 'fixed']

/** Throws `DefinitionError`, naming `where`. */
export function retryInGraph(notation: unknown, where: string): StoredRetry {
  const written = typeof notation === 'number' ? { attempts: notation } : notation
  if (typeof written !== 'object' || written === null || Array.isArray(written)) {
    throw new DefinitionError(`${where}: retry is a number of attempts or an object of options.`)
  }
  refuseUnknownKeys(written, ['attempts', 'backoff', 'delay', 'maxDelay', 'jitter', 'retryIf'], where)
  const { attempts, backoff, delay, maxDelay, jitter, retryIf } = written as Record<string, unknown>
  if (typeof backoff === 'function' || retryIf !== undefined) {
    throw new DefinitionError(
      `${where}: the retry of a node is stored, and functions cannot be. Put them into the retry of its job.`,
    )
  }
  if (attempts !== undefined && !(Number.isSafeInteger(attempts) && (attempts as number) >= 1)) {
    throw new DefinitionError(`${where}: the attempts of a retry must be a whole number of at least 1.`)
  }
  if (backoff !== undefined && !curves.includes(backoff)) {
    throw new DefinitionError(`${where}: the backoff of a retry is one of ${curves.join(', ')}.`)
  }
  if (jitter !== undefined && typeof jitter !== 'boolean') {
    throw new DefinitionError(`${where}: the jitter of a retry is true or false.`)
  }
  return Object.freeze({
    ...(attempts === undefined ? {} : { attempts }),
    ...(backoff === undefined ? {} : { backoff }),
    ...(delay === undefined ? {} : { delay: definedDuration(delay, 'the delay of a retry', where) }),
    ...(maxDelay === undefined ? {} : { maxDelay: definedDuration(maxDelay, 'the maxDelay of a retry', where) }),
    ...(jitter === undefined ? {} : { jitter }),
  }) as StoredRetry
}
