/**
 * What is wrong with a request, as its sender hears it: a status, a stable code, a sentence and what to do. Errors that are
 * not meant for callers become one sentence and an id, by which the log can be searched.
 */
import { randomUUID } from 'node:crypto'
import { type ErrorCode, isGenevaError } from '../errors.ts'

export class RequestProblem extends Error {
  readonly status: number
  readonly code: string
  readonly remedy: string | null

  constructor(status: number, code: string, message: string, remedy: string | null = null) {
    super(message)
    this.status = status
    this.code = code
    this.remedy = remedy
  }
}

/** Errors of the library that are about what the caller asked for. All others are ours. */
const statuses: Readonly<Partial<Record<ErrorCode, number>>> = {
  INVALID_ARGUMENT: 400,
  INPUT_INVALID: 422,
  ARGS_INVALID: 422,
  UNSTORABLE_VALUE: 422,
  VALUE_TOO_LARGE: 413,
  UNKNOWN_WORKFLOW: 404,
  HERO_TYPE: 422,
  HERO_GONE: 409,
  ALREADY_ACTIVE: 409,
  IDEMPOTENCY_CONFLICT: 409,
  WORKFLOW_NOT_FOUND: 404,
  LETTER_NOT_FOUND: 404,
  INVALID_STATE: 409,
  ALREADY_DECIDED: 409,
  OUTPUT_MISSING: 409,
  CLOSED: 503,
}

/** `report` hears of errors that the caller does not get to see. */
export function problemFrom(error: unknown, report: (error: unknown) => void): RequestProblem {
  if (error instanceof RequestProblem) return error
  const status = isGenevaError(error) ? statuses[error.code] : undefined
  if (isGenevaError(error) && status !== undefined) return new RequestProblem(status, error.code, error.message)
  const id = randomUUID()
  report(new Error(`An HTTP request has failed (${id}).`, { cause: error }))
  return new RequestProblem(500, 'INTERNAL', `Something went wrong here. It was reported as ${id}.`)
}

export function problemBody({ code, message, remedy }: RequestProblem): object {
  return { error: { code, message, ...(remedy === null ? {} : { remedy }) } }
}
