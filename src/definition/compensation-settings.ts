/**
 * Reads the options that say how a node is undone, and whether its code may be called again. Whether the methods exist is
 * seen when the class is registered.
 */
import { DefinitionError } from '../errors.ts'
import { definedTimeout, refuseUnknownKeys } from './option-checks.ts'
import { normalizeRetry } from './retry-policy.ts'
import type { CompensationSettings, ExceptionRule, NodeDefinition } from './workflow-definition.ts'

type RawOptions = Readonly<Record<string, unknown>>

/** `rules` are those of the node itself: a policy of the class counts for it as far as it can. */
export function codeSettings(
  { compensate, idempotent, reconcile, retry }: RawOptions,
  rules: readonly ExceptionRule[],
  { where, transactional }: { readonly where: string; readonly transactional: boolean },
): Pick<NodeDefinition, 'compensation' | 'idempotent' | 'reconcile'> {
  const repeats = flagIn(idempotent, 'idempotent', where) ?? true
  if (!repeats) refuseRepetition(retry, rules, where)
  if (!repeats && transactional) refuseOnce(where)
  if (reconcile !== undefined && (typeof reconcile !== 'string' || reconcile === '')) {
    throw new DefinitionError(
      `${where}: \`reconcile\` must be the name of a method that tells whether the call happened.`,
    )
  }
  if (reconcile !== undefined && repeats) {
    throw new DefinitionError(
      `${where}: \`reconcile\` settles calls that may not be repeated, and this one may be. Say \`idempotent: false\`, or leave it out.`,
    )
  }
  return {
    compensation: compensate === undefined ? null : compensationIn(compensate, where),
    idempotent: repeats,
    reconcile: (reconcile as string | undefined) ?? null,
  }
}

/** One call, ever: what would call again contradicts it. */
function refuseRepetition(retry: unknown, rules: readonly ExceptionRule[], where: string): void {
  if (retry !== undefined) {
    throw new DefinitionError(
      `${where}: a step with \`idempotent: false\` is called once, so it cannot have a \`retry\`.`,
    )
  }
  if (rules.some(({ policy }) => typeof policy !== 'function' && policy.action === 'reattempt')) {
    throw new DefinitionError(
      `${where}: a step with \`idempotent: false\` is called once, so its \`onException\` cannot be reattempt.`,
    )
  }
}

/** The database may ask for the whole to be run again, and it is undone each time before. */
function refuseOnce(where: string): never {
  throw new DefinitionError(
    `${where}: what runs in a transaction may be run again, so it cannot have \`idempotent: false\`. Put the call that must not be repeated into a step of its own.`,
  )
}

function compensationIn(given: unknown, where: string): CompensationSettings {
  const written = typeof given === 'string' ? { step: given } : given
  const place = `${where}, compensate`
  if (typeof written !== 'object' || written === null || Array.isArray(written)) {
    throw new DefinitionError(`${place}: it takes the name of a method, or { step, retry, timeout, ... }.`)
  }
  refuseUnknownKeys(written, ['step', 'retry', 'timeout', 'idempotent', 'afterFailure', 'transaction'], place)
  const { step, retry, timeout, idempotent, afterFailure, transaction } = written as RawOptions
  if (typeof step !== 'string' || step === '') {
    throw new DefinitionError(`${place}: \`step\` must be the name of the method that undoes the step.`)
  }
  const repeats = flagIn(idempotent, 'idempotent', place) ?? true
  if (!repeats) refuseRepetition(retry, [], place)
  const transactional = flagIn(transaction, 'transaction', place) ?? false
  if (!repeats && transactional) refuseOnce(place)
  return Object.freeze({
    method: step,
    retry: retry === undefined ? null : normalizeRetry(retry, place),
    timeoutMs: timeout === undefined ? null : definedTimeout(timeout, place),
    idempotent: repeats,
    afterFailure: flagIn(afterFailure, 'afterFailure', place) ?? true,
    transactional,
  })
}

function flagIn(value: unknown, name: string, where: string): boolean | null {
  if (value === undefined) return null
  if (typeof value === 'boolean') return value
  throw new DefinitionError(`${where}: \`${name}\` must be true or false.`)
}
