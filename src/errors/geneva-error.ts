/**
 * Every error that a user of the library can meet, each with a stable code. A message says what happened,
 * to which id, and what to do about it.
 */

const brand = Symbol.for('geneva-drive.error')

/** Stable codes, one per public error class. The reference in `docs/reference/errors.md` has a row for each. */
export type ErrorCode =
  | 'DEFINITION'
  | 'INVALID_ARGUMENT'
  | 'INPUT_INVALID'
  | 'UNSTORABLE_VALUE'
  | 'VALUE_TOO_LARGE'
  | 'UNKNOWN_WORKFLOW'
  | 'INVALID_GRAPH'
  | 'GRAPH_TOO_LARGE'
  | 'ARGS_INVALID'
  | 'HERO_TYPE'
  | 'HERO_GONE'
  | 'ALREADY_ACTIVE'
  | 'IDEMPOTENCY_CONFLICT'
  | 'WORKFLOW_NOT_FOUND'
  | 'LETTER_NOT_FOUND'
  | 'INVALID_STATE'
  | 'ALREADY_DECIDED'
  | 'WORKFLOW_NOT_FINISHED'
  | 'WAIT_TIMEOUT'
  | 'OUTPUT_MISSING'
  | 'STEP_MISSING'
  | 'CHILD_NOT_FINISHED'
  | 'MISSING_JOB'
  | 'CRASH_LIMIT'
  | 'STEP_LIMIT'
  | 'STEP_TIMEOUT'
  | 'NOTHING_CAME'
  | 'ITERATION_LIMIT'
  | 'EVENTS_DROPPED'
  | 'RETRYABLE'
  | 'PERMANENT'
  | 'DRIVER_MISSING'
  | 'UNSUPPORTED_DATABASE'
  | 'DATABASE_OPEN'
  | 'POOLED_CONNECTION'
  | 'SCHEMA'
  | 'HEARTBEAT_THREAD'
  | 'CLOSED'
  | 'INVARIANT'

/** The base of all errors thrown by Geneva Drive. Recognise it with `isGenevaError`, which also works across copies of the package. */
export class GenevaError extends Error {
  readonly code: ErrorCode
  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.name = new.target.name
    Object.defineProperty(this, brand, { value: true })
  }
}

/** True for any error of this library, optionally only for one code. */
export function isGenevaError(value: unknown, code?: ErrorCode): value is GenevaError {
  if (typeof value !== 'object' || value === null || !(brand in value)) return false
  return code === undefined || (value as unknown as GenevaError).code === code
}
