/** Which names a node may have, and which are taken by `Workflow` or kept for generated nodes. */
import { joinSuffix } from './bind-branches.ts'
import { itemSeparator } from './graph.ts'

/** The longest text that is part of a key in all databases. */
export const maxNameLength = 191

/** So many digits keep items in the order of their numbers where slots are compared as text. */
export const itemDigits = 8

/** What the handler of a job begins with. */
export const jobPrefix = 'job:'

/** The longest names of what the engine puts something before or behind, because the whole of it must fit. */
export const longestNames = {
  each: maxNameLength - itemSeparator.length - itemDigits,
  fork: maxNameLength - joinSuffix.length,
  job: maxNameLength - jobPrefix.length,
} as const

const members = [
  'hero',
  'input',
  'id',
  'execution',
  'signal',
  'output',
  'emit',
  'cancel',
  'pause',
  'skip',
  'finish',
  'restart',
  'reattempt',
  'postpone',
] as const

/** The instance side of `Workflow`, listed here to keep it from users' own names; tests compare the two. */
export type WorkflowMember = (typeof members)[number]
export const workflowMembers: ReadonlySet<string> = new Set(members)

/** Says what is wrong with a node's name; `null` when it is fine. */
export function mistakeInNodeName(name: unknown, longest = maxNameLength): string | null {
  if (typeof name !== 'string') return `its name is a ${typeof name}, not a text`
  if (name === '') return 'its name is empty'
  if (name.length > longest) return `its name is longer than ${longest} characters`
  if (name.includes('#') || name.includes('/')) return 'names with # or / are kept for generated nodes'
  if (name.startsWith('step_') || name.startsWith('n_'))
    return 'names that begin with step_ or n_ are kept for generated nodes'
  if (!/^[\p{ID_Start}_$][\p{ID_Continue}$]*$/u.test(name)) return 'its name is not an identifier'
  if (workflowMembers.has(name)) return `${name} is a member of Workflow`
  // `then` would make every instance look like a promise.
  if (name in Object.prototype || name === 'then') return `${name} has a meaning in JavaScript`
  return null
}

/** Says what is wrong with a stored name (a type, a queue); `null` when it is fine. */
export function mistakeInStoredName(name: unknown, longest = maxNameLength): string | null {
  if (typeof name !== 'string') return `is a ${typeof name}, not a text`
  if (name === '') return 'is empty'
  if (name.length > longest) return `is longer than ${longest} characters`
  return name.includes('\0') ? 'contains a NUL character' : null
}

/** Says what is wrong with the name or id of a node in a stored graph, which no class restricts; `null` when it is fine. */
export function mistakeInGraphName(name: unknown, longest = maxNameLength): string | null {
  const mistake = mistakeInStoredName(name, longest)
  if (mistake !== null) return mistake
  const text = name as string
  if (text.includes('#') || text.includes('/')) return 'contains # or /, which are kept for generated nodes'
  return /\p{Surrogate}/u.test(text) ? 'contains half of a surrogate pair' : null
}
