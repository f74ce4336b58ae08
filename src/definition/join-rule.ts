/** Reads when a join goes on. Throws `DefinitionError`, naming the place. */
import { DefinitionError } from '../errors.ts'
import type { JoinRule } from './graph.ts'
import { refuseUnknownKeys } from './option-checks.ts'

/** `any` is one of them. More than there are branches could never come. */
export function joinRule(given: unknown, branches: number, where: string): JoinRule {
  if (given === undefined) return 'all'
  if (given === 'all' || given === 'settled') return given
  if (given === 'any') return anyOf
  if (typeof given !== 'object' || given === null || !('atLeast' in given)) {
    throw new DefinitionError(`${where}: a join waits for 'all', 'any', 'settled' or { atLeast: a number }.`)
  }
  refuseUnknownKeys(given, ['atLeast'], where)
  const { atLeast } = given as { atLeast: unknown }
  if (!Number.isSafeInteger(atLeast) || Number(atLeast) < 1) {
    throw new DefinitionError(`${where}: \`atLeast\` must be a whole number of at least 1.`)
  }
  if (Number(atLeast) > branches) {
    throw new DefinitionError(`${where}: \`atLeast\` is ${atLeast}, but there are only ${branches} branches.`)
  }
  return Object.freeze({ atLeast: atLeast as number })
}

const anyOf: JoinRule = Object.freeze({ atLeast: 1 })
