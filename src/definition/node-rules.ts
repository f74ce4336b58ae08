/**
 * What a node of a stored graph says about how it is run, checked and in the form in which it is stored. Code cannot be
 * stored, so a policy is a policy here, never a function or a list of error classes.
 */
import { GraphTooLargeError, InvalidGraphError, isGenevaError, type ValueTooLargeError } from '../errors.ts'
import { normalizePolicy } from './exception-policy.ts'
import { type FrozenNode, frozenMetadata } from './frozen-graph.ts'
import { definedDuration, definedPriority, definedQueue } from './option-checks.ts'
import { retryInGraph } from './retry-in-graph.ts'
import type { PolicyNotation } from './step-options.ts'
import { checkCondition } from './stored-condition.ts'
import { isPlainObject } from './validate-input.ts'

/** As users write them; a graph that was stored has the same with its durations in milliseconds. */
export interface GivenRules {
  readonly wait?: unknown
  readonly queue?: unknown
  readonly priority?: unknown
  readonly retry?: unknown
  readonly onException?: unknown
  readonly metadata?: unknown
}

export type StoredRules = Pick<FrozenNode, 'wait_ms' | 'queue' | 'priority' | 'retry' | 'on_exception' | 'metadata'>

/** Throws `DefinitionError`, naming `where`, and for metadata also what the codec throws. */
export function storedRules(given: GivenRules, where: string): StoredRules {
  const { wait, queue, priority, retry, onException, metadata } = given
  const waitMs = wait === undefined ? 0 : definedDuration(wait, 'the wait', where)
  return {
    ...(waitMs === 0 ? {} : { wait_ms: waitMs }),
    ...(queue === undefined ? {} : { queue: definedQueue(queue, where) }),
    ...(priority === undefined ? {} : { priority: definedPriority(priority, where) }),
    ...(retry === undefined ? {} : { retry: retryInGraph(retry, where) }),
    ...(onException === undefined ? {} : { on_exception: storedPolicy(onException, where) }),
    ...(metadata === undefined ? {} : { metadata: storedMetadata(metadata, where) }),
  }
}

/** A policy as it stands in a graph. */
export function storedPolicy(notation: unknown, where: string): PolicyNotation {
  if (typeof notation === 'function' || Array.isArray(notation)) {
    throw new InvalidGraphError(
      `${where}: its onException is stored, and functions and error classes cannot be. Give a policy, or put them into the onException of its job.`,
    )
  }
  const { action, waitMs, limit, then } = normalizePolicy(notation, where)
  if (action !== 'reattempt') return action
  return {
    policy: action,
    ...(waitMs === 0 ? {} : { wait: waitMs }),
    ...(limit === null ? {} : { limit }),
    ...(then === 'pause' ? {} : { then }),
  }
}

/** The expressions that say whether a node runs, as users write them. */
export interface GivenTest {
  readonly if?: unknown
  readonly skipIf?: unknown
}

/** Throws `InvalidGraphError`, naming `where`. */
export function storedTest({ if: runIf, skipIf }: GivenTest, where: string): Pick<FrozenNode, 'if' | 'skip_if'> {
  if (runIf !== undefined && skipIf !== undefined) {
    throw new InvalidGraphError(`${where}: it has both \`if\` and \`skipIf\`. Use one.`)
  }
  if (runIf !== undefined) return { if: storedExpression(runIf, `${where}, if`) }
  return skipIf === undefined ? {} : { skip_if: storedExpression(skipIf, `${where}, skipIf`) }
}

function storedExpression(text: unknown, where: string): string {
  if (typeof text === 'function' || typeof text === 'boolean') {
    throw new InvalidGraphError(
      `${where}: it is stored, so it must be an expression, like "outputs.sum.total > 100", not a ${typeof text}.`,
    )
  }
  try {
    checkCondition(text as string)
    return text as string
  } catch (error) {
    if (isGenevaError(error, 'INVALID_GRAPH')) throw new InvalidGraphError(`${where}: ${error.message}`)
    throw error
  }
}

function storedMetadata(metadata: unknown, where: string): unknown {
  if (isPlainObject(metadata)) return frozenMetadata(metadata as object, `${where}: its metadata`)
  throw new InvalidGraphError(`${where}: its metadata must be an object.`)
}

/** Runs a check; whatever a mistake is found by, it is a mistake in the graph. */
export function inGraph<T>(maxBytes: number, check: () => T): T {
  try {
    return check()
  } catch (error) {
    if (isGenevaError(error, 'DEFINITION') || isGenevaError(error, 'UNSTORABLE_VALUE'))
      throw new InvalidGraphError(error.message, { cause: error })
    if (isGenevaError(error, 'VALUE_TOO_LARGE'))
      throw new GraphTooLargeError('bytes', (error as ValueTooLargeError).bytes, maxBytes)
    throw error
  }
}
