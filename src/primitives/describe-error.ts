/**
 * Turns whatever user code throws into three strings that can be stored. It never throws itself, and never keeps a
 * reference to what was thrown.
 */
import { inspect } from 'node:util'
import { sanitizeText } from './sanitize-text.ts'

/** A thrown value as it is stored. Limits in UTF-8 bytes: class 255, message 10 000, stack 50 000. */
export interface ErrorRecord {
  readonly className: string
  readonly message: string
  /** The stack, followed by those of its causes. Null when what was thrown has none. */
  readonly stack: string | null
}

const maxClassBytes = 255
const maxMessageBytes = 10_000
const maxStackBytes = 50_000
const maxCauses = 5
const maxInnerErrors = 10

/** Describes any thrown value: errors with their causes, and also undefined, strings, proxies and broken errors. Never throws. */
export function describeError(thrown: unknown): ErrorRecord {
  const stack = stackWithCauses(thrown)
  return {
    className: sanitizeText(classNameOf(thrown), maxClassBytes),
    message: sanitizeText(messageOf(thrown), maxMessageBytes),
    stack: stack && sanitizeText(stack, maxStackBytes),
  }
}

/**
 * Joins two failures of one event, such as a step that failed and the compensation that failed after it. Keeps the
 * first class; each side gets half of the room, so that neither pushes the other out.
 */
export function combineErrors(first: ErrorRecord, second: ErrorRecord, note: string): ErrorRecord {
  const secondMessage = `${note}: ${second.className}: ${second.message}`
  const secondStack = `${note}: ${second.stack ?? `${second.className}: ${second.message}`}`
  const firstStack = first.stack ?? `${first.className}: ${first.message}`
  const bothStacks = first.stack !== null || second.stack !== null
  return {
    className: first.className,
    message: joined(first.message, secondMessage, maxMessageBytes),
    stack: bothStacks ? joined(firstStack, secondStack, maxStackBytes) : null,
  }
}

function joined(first: string, second: string, maxBytes: number): string {
  const half = Math.floor((maxBytes - 1) / 2)
  return `${sanitizeText(first, half)}\n${sanitizeText(second, half)}`
}

/** A name set on the error itself wins over its constructor's, which a bundler may have shortened. */
function classNameOf(thrown: unknown): string {
  if (!isObject(thrown)) return thrown === null ? 'null' : typeof thrown
  const ownName = attempt(() => Object.hasOwn(thrown, 'name')) ? read(thrown, 'name') : undefined
  if (typeof ownName === 'string' && ownName !== '') return ownName
  const constructorName = read(read(thrown, 'constructor'), 'name')
  if (typeof constructorName === 'string' && constructorName !== '') return constructorName
  return 'Object'
}

function messageOf(thrown: unknown): string {
  if (!isObject(thrown)) return typeof thrown === 'string' ? thrown : `${printed(thrown)} was thrown`
  const message = read(thrown, 'message')
  if (message === undefined && !isError(thrown)) return printed(thrown)
  return [message, attempt(() => innerMessages(thrown))]
    .filter(part => part !== undefined && part !== '')
    .map(printed)
    .join(': ')
}

/** Node reports failed connections as an AggregateError without a message: all that can be known is inside. */
function innerMessages(thrown: object): string | undefined {
  if (!(thrown instanceof AggregateError) && read(thrown, 'name') !== 'AggregateError') return undefined
  const errors: unknown = read(thrown, 'errors')
  if (!Array.isArray(errors)) return undefined
  const listed = errors.slice(0, maxInnerErrors).map((inner: unknown, index) => {
    const message = printed(isObject(inner) ? read(inner, 'message') : inner)
    return `(${index + 1}) ${classNameOf(inner)}: ${message}`
  })
  if (errors.length > maxInnerErrors) listed.push(`and ${errors.length - maxInnerErrors} more`)
  return listed.join('; ')
}

function stackWithCauses(thrown: unknown): string | null {
  const parts: string[] = []
  const seen = new Set<unknown>([thrown])
  const own = read(thrown, 'stack')
  if (typeof own === 'string') parts.push(own)
  let cause = read(thrown, 'cause')
  for (let depth = 0; depth < maxCauses && cause !== undefined && !seen.has(cause); depth += 1) {
    seen.add(cause)
    const stack = read(cause, 'stack')
    parts.push(`Caused by: ${typeof stack === 'string' ? stack : `${classNameOf(cause)}: ${messageOf(cause)}`}`)
    cause = read(cause, 'cause')
  }
  return parts.length > 0 ? parts.join('\n') : null
}

function printed(value: unknown): string {
  if (typeof value === 'string') return value
  const options = { depth: 2, maxArrayLength: 20, maxStringLength: 1_000, breakLength: Number.POSITIVE_INFINITY }
  return attempt(() => inspect(value, options)) ?? '(unprintable)'
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function'
}

function isError(value: object): boolean {
  return attempt(() => value instanceof Error) ?? false
}

/** Getters and proxies may throw; then the property counts as absent. */
function read(target: unknown, key: PropertyKey): unknown {
  if (!isObject(target)) return undefined
  return attempt(() => Reflect.get(target, key))
}

function attempt<T>(action: () => T): T | undefined {
  try {
    return action()
  } catch {
    return undefined
  }
}
