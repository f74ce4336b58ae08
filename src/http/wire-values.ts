/** Between what travels and what the library takes: payloads are encoded in both directions, errors have one shape. */
import type { DeadLetter } from '../client/dead-letters-list.ts'
import type { ViewOptions } from '../client/views/view-options.ts'
import type { Views } from '../client/views/views.ts'
import type { ErrorRecord } from '../primitives/describe-error.ts'
import { readValue } from '../primitives/read-value.ts'
import { RequestProblem } from './request-problem.ts'
import type { FilterQuery } from './request-schemas.ts'

/** The value that an encoded payload stands for. A tag that is not known is refused. */
export function decodedPayload(encoded: unknown, what: string): unknown {
  if (encoded === undefined) return undefined
  try {
    return readValue(encoded)
  } catch {
    throw new RequestProblem(422, 'INVALID_PAYLOAD', `${what} has a tag that is not known here.`)
  }
}

/** Leaves out what was not given: an option that is there and undefined would be another option. */
export function given<Options extends object>(
  options: Options,
): { [K in keyof Options]?: Exclude<Options[K], undefined> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as never
}

export function viewOptionsFrom(filter: FilterQuery): ViewOptions {
  const { hero, createdAfter, createdBefore, olderThanMs, newerThanMs, ...rest } = filter
  const colon = hero?.indexOf(':') ?? -1
  return given({
    ...rest,
    hero: hero === undefined ? undefined : { type: hero.slice(0, colon), id: hero.slice(colon + 1) },
    createdAfter: createdAfter === undefined ? undefined : new Date(createdAfter),
    createdBefore: createdBefore === undefined ? undefined : new Date(createdBefore),
    olderThan: olderThanMs,
    newerThan: newerThanMs,
  }) as ViewOptions
}

export function wireError(error: ErrorRecord | null) {
  return error && { name: error.className, message: error.message, stack: error.stack }
}

export function wireLetter(letter: DeadLetter) {
  const { step, error, ...rest } = letter
  return { ...rest, name: step, error: wireError(error) }
}

/** With what its execution worked on, and whether it can be given something else. */
export async function wireLetterDetail(views: Pick<Views, 'inputOf' | 'takesInput'>, letter: DeadLetter) {
  const [input, takesInput] = await Promise.all([views.inputOf(letter.executionId), views.takesInput(letter.id)])
  return { ...wireLetter(letter), input, takesInput }
}
