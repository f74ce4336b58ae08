/** Checks that several declarations share. Each throws `DefinitionError` and names the place, class and step. */
import { DefinitionError, isGenevaError } from '../errors.ts'
import { type Duration, toMilliseconds } from '../primitives/duration.ts'
import { mistakeInKeys } from '../primitives/refuse-unknown-options.ts'
import { mistakeInStoredName } from './node-name.ts'
import type { Test } from './workflow-definition.ts'

export function refuseUnknownKeys(options: object, known: readonly string[], where: string): void {
  const mistake = mistakeInKeys(options, known)
  if (mistake !== null) throw new DefinitionError(`${where}: ${mistake}`)
}

export function definedDuration(duration: unknown, what: string, where: string): number {
  try {
    return toMilliseconds(duration as Duration, what)
  } catch (error) {
    if (isGenevaError(error, 'INVALID_ARGUMENT')) throw new DefinitionError(`${where}: ${error.message}`)
    throw error
  }
}

/** None at all is said by leaving it out. */
export function definedTimeout(timeout: unknown, where: string): number {
  const ms = definedDuration(timeout, 'the timeout', where)
  if (ms > 0) return ms
  throw new DefinitionError(`${where}: a timeout of 0 leaves no time at all. Leave it out for none.`)
}

export function definedDeadline(deadline: unknown, where: string): number {
  const ms = definedDuration(deadline, 'the deadline', where)
  if (ms > 0) return ms
  throw new DefinitionError(`${where}: a deadline of 0 leaves no time at all. Leave it out for none.`)
}

export function definedWord<Word extends string>(given: unknown, words: readonly Word[], what: string): Word {
  const known = words.find(word => word === given)
  if (known !== undefined) return known
  const choice = words.map(word => `'${word}'`).join(' or ')
  throw new DefinitionError(`${what} must be ${choice}, not ${JSON.stringify(given)}.`)
}

export function definedQueue(queue: unknown, where: string): string {
  const mistake = mistakeInStoredName(queue)
  if (mistake !== null) throw new DefinitionError(`${where}: the queue name ${mistake}.`)
  return queue as string
}

export function definedPriority(priority: unknown, where: string): number {
  if (typeof priority === 'number' && Number.isInteger(priority) && priority >= 0 && priority <= 100) return priority
  throw new DefinitionError(`${where}: the priority must be a whole number from 0 to 100.`)
}

export function definedTest(test: unknown, what: string, where: string): Test {
  if (typeof test === 'boolean' || typeof test === 'function' || (typeof test === 'string' && test !== ''))
    return test as Test
  throw new DefinitionError(`${where}: \`${what}\` must be the name of a method, a function or a boolean.`)
}
