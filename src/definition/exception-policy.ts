/**
 * Turns what users write for `onException` into rules. Everything that is wrong is found here, whether it was
 * written in a static block or returned by a function.
 */
import { DefinitionError } from '../errors.ts'
import { definedDuration, refuseUnknownKeys } from './option-checks.ts'
import type {
  ErrorClass,
  ExceptionAction,
  ExceptionPolicy,
  ExceptionRule,
  PolicyFunction,
} from './workflow-definition.ts'

const actions: readonly string[] = [
  'pause',
  'cancel',
  'skip',
  'reattempt',
  'rollback',
  'dlq',
] satisfies ExceptionAction[]

/** What happens where nobody said anything. */
export const pausePolicy: ExceptionPolicy = policyOf('pause', 0, null, 'pause')

/** A policy in the user's notation with its defaults filled in. Throws `DefinitionError`, naming `where`. */
export function normalizePolicy(notation: unknown, where: string): ExceptionPolicy {
  if (typeof notation === 'string') return policyOf(actionIn(notation, where), 0, null, 'pause')
  if (typeof notation !== 'object' || notation === null || Array.isArray(notation)) {
    throw new DefinitionError(
      `${where}: ${kindOf(notation)} is not an exception policy. Use one of ${actions.join(', ')}, or { policy: ... }.`,
    )
  }
  refuseUnknownKeys(notation, ['policy', 'wait', 'limit', 'then'], where)
  const { policy, wait, limit, then } = notation as Record<string, unknown>
  const action = actionIn(policy, where)
  if (action !== 'reattempt' && (wait !== undefined || limit !== undefined || then !== undefined)) {
    throw new DefinitionError(`${where}: wait, limit and then belong to the policy reattempt, not to ${action}.`)
  }
  const waitMs = wait === undefined ? 0 : definedDuration(wait, 'the wait of a reattempt', where)
  return policyOf(
    action,
    waitMs,
    limit === undefined ? null : limitIn(limit, where),
    then === undefined ? 'pause' : thenIn(then, where),
  )
}

function policyOf(
  action: ExceptionAction,
  waitMs: number,
  limit: number | null,
  then: ExceptionPolicy['then'],
): ExceptionPolicy {
  return Object.freeze({ action, waitMs, limit, then })
}

/** The rules that one `onException` stands for, in the order in which they were written. */
export function normalizeRules(notation: unknown, where: string): ExceptionRule[] {
  if (!Array.isArray(notation)) return [rule(null, notation, where)]
  return notation.map(entry => {
    if (!Array.isArray(entry) || entry.length !== 2) {
      throw new DefinitionError(
        `${where}: onException takes pairs, like [[CardDeclined, 'cancel'], [RateLimited, 'reattempt']].`,
      )
    }
    return rule(errorClassIn(entry[0], where), entry[1], where)
  })
}

/** The order in which rules are tried: the most specific error class first, then the one declared last. */
export function inOrderOfTrial(rules: readonly ExceptionRule[]): ExceptionRule[] {
  return rules
    .map((rule, index) => ({ rule, index, depth: depthOf(rule.errorClass) }))
    .sort((a, b) => b.depth - a.depth || b.index - a.index)
    .map(({ rule }) => rule)
}

function rule(errorClass: ErrorClass | null, notation: unknown, where: string): ExceptionRule {
  const policy = typeof notation === 'function' ? (notation as PolicyFunction) : normalizePolicy(notation, where)
  return Object.freeze({ errorClass, policy })
}

/** How many classes an error class descends from; a rule for every error has none. */
function depthOf(errorClass: ErrorClass | null): number {
  let depth = 0
  for (let prototype = errorClass?.prototype; prototype; prototype = Object.getPrototypeOf(prototype)) depth++
  return depth
}

function actionIn(name: unknown, where: string): ExceptionAction {
  if (typeof name === 'string' && actions.includes(name)) return name as ExceptionAction
  const shown = typeof name === 'string' ? JSON.stringify(name) : kindOf(name)
  throw new DefinitionError(`${where}: ${shown} is not an exception policy. Use one of ${actions.join(', ')}.`)
}

function limitIn(limit: unknown, where: string): number {
  if (typeof limit === 'number' && Number.isSafeInteger(limit) && limit >= 1) return limit
  throw new DefinitionError(`${where}: the limit of a reattempt must be a whole number of at least 1.`)
}

function thenIn(then: unknown, where: string): ExceptionPolicy['then'] {
  const action = actionIn(then, where)
  if (action !== 'reattempt') return action
  throw new DefinitionError(
    `${where}: \`then\` says what follows the last reattempt, so it cannot be reattempt itself.`,
  )
}

function errorClassIn(value: unknown, where: string): ErrorClass {
  if (typeof value === 'function' && typeof value.prototype === 'object' && value.prototype !== null)
    return value as unknown as ErrorClass
  throw new DefinitionError(
    `${where}: ${kindOf(value)} is not an error class. Was it imported in a circle, or declared later?`,
  )
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  return Array.isArray(value) ? 'an array' : `a value of type ${typeof value}`
}
