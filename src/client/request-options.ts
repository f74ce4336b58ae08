/**
 * Who asks for something, and why. Both are recorded with the event.
 */
import type { Request } from '../engine/change-draft.ts'
import type { Resolution } from '../engine/decide-request.ts'
import { InvalidArgumentError } from '../errors.ts'
import { encodeValue } from '../primitives/json-codec.ts'
import { optionNames, refuseUnknownOptions } from '../primitives/refuse-unknown-options.ts'
import { sanitizeText } from '../primitives/sanitize-text.ts'

export interface RequestOptions {
  readonly by?: string
  readonly reason?: string
}

export interface ImportOptions extends RequestOptions {
  /** A paused workflow whose own graph is replaced. */
  readonly into?: string
}

const maxBytes = 10_000

const known = optionNames<RequestOptions>({ by: 0, reason: 0 })

/** `others`: what else may be asked for with it. */
export function requestFrom(options: RequestOptions = {}, others: readonly string[] = []): Request {
  refuseUnknownOptions('The request', options, [...known, ...others])
  return { by: textOf(options.by, 'by'), reason: textOf(options.reason, 'reason') }
}

export interface ResolveOptions<Output = unknown> extends RequestOptions {
  /** What the step would have returned, for those that read it. */
  readonly output?: Output
}

const maxOutputBytes = 1024 * 1024

export function resolutionFrom(step: string, options: ResolveOptions = {}): Resolution {
  const request = requestFrom(options, ['output'])
  const what = `The output given for step ${step}`
  return { node: step, request, output: encodeValue(options.output, { what, maxBytes: maxOutputBytes }) }
}

function textOf(value: unknown, name: string): string | null {
  if (value === undefined || value === null) return null
  if (typeof value !== 'string') throw new InvalidArgumentError(`\`${name}\` must be a text, not ${typeof value}.`)
  return sanitizeText(value, maxBytes)
}
