/**
 * Who asks for something, and why. Both are recorded with the event.
 */
import type { Request } from '../engine/change-draft.ts'
import { InvalidArgumentError } from '../errors.ts'
import { sanitizeText } from '../primitives/sanitize-text.ts'

export interface RequestOptions {
  readonly by?: string
  readonly reason?: string
}

const maxBytes = 10_000

export function requestFrom(options: RequestOptions = {}): Request {
  if (typeof options !== 'object' || options === null) {
    throw new InvalidArgumentError('The options of a request must be an object, like { by, reason }.')
  }
  return { by: textOf(options.by, 'by'), reason: textOf(options.reason, 'reason') }
}

function textOf(value: unknown, name: string): string | null {
  if (value === undefined || value === null) return null
  if (typeof value !== 'string') throw new InvalidArgumentError(`\`${name}\` must be a text, not ${typeof value}.`)
  return sanitizeText(value, maxBytes)
}
