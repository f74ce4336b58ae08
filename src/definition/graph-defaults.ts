/** What nodes of a graph that is being described take from the graph, where they and their jobs say nothing. */
import { InvalidGraphError } from '../errors.ts'
import { isJob, type Job } from './job.ts'
import { storedRules } from './node-rules.ts'
import { definedTimeout, refuseUnknownKeys } from './option-checks.ts'
import { isPlainObject } from './validate-input.ts'

type RawOptions = Readonly<Record<string, unknown>>

const keys = ['retry', 'timeout', 'onException', 'queue', 'priority'] as const
type Key = (typeof keys)[number]

/** Throws what a node with such options would throw. */
export function graphDefaults(options: unknown): RawOptions {
  const where = 'The defaults of the graph'
  if (!isPlainObject(options)) throw new InvalidGraphError(`${where}: the options must be an object.`)
  refuseUnknownKeys(options as object, keys, where)
  const given = options as RawOptions
  storedRules(given, where)
  if (given.timeout !== undefined) definedTimeout(given.timeout, where)
  return given
}

/** The options of a node, with what is filled in. `known`: the options that such a node has. */
export function withDefaults(given: RawOptions, defaults: RawOptions, known: readonly string[]): RawOptions {
  const filled = keys.filter(
    key => defaults[key] !== undefined && given[key] === undefined && mayFill(given, key, known),
  )
  if (filled.length === 0) return given
  return { ...given, ...Object.fromEntries(filled.map(key => [key, defaults[key]])) }
}

function mayFill({ job, idempotent }: RawOptions, key: Key, known: readonly string[]): boolean {
  if (!known.includes(key)) return false
  if (isJob(job)) return !says(job, key) && !(idempotent === false && (key === 'retry' || key === 'onException'))
  // Of a node that waits, its timeout is how long.
  return key !== 'timeout'
}

function says({ queue, priority, retry, timeoutMs, onException }: Job, key: Key): boolean {
  if (key === 'onException') return onException.length > 0
  return { queue, priority, retry, timeout: timeoutMs }[key] !== null
}
