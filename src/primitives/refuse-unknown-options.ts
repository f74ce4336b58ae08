/** Options are typed, yet plain JavaScript can misspell one, which would otherwise be ignored without a word. */
import { InvalidArgumentError } from '../errors.ts'

/** The names of all options of a type. The compiler sees to it that none is missing. */
export function optionNames<Options extends object>(
  names: { readonly [Name in keyof Options]-?: 0 },
): readonly string[] {
  return Object.keys(names)
}

/** `where` names the verb: `stuck` becomes `stuck: there is no option lmit. Known are for, limit.` */
export function refuseUnknownOptions(where: string, options: unknown, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null) {
    throw new InvalidArgumentError(`${where}: the options must be an object, like { ${known.slice(0, 2).join(', ')} }.`)
  }
  const mistake = mistakeInKeys(options, known)
  if (mistake !== null) throw new InvalidArgumentError(`${where}: ${mistake}`)
}

/** What is wrong with the keys of some options; `null` if nothing is. Every start asks, so it makes nothing for the good case. */
export function mistakeInKeys(options: object, known: readonly string[]): string | null {
  for (const key of Object.keys(options)) {
    if (!known.includes(key)) return `there is no option ${key}. Known are ${known.join(', ')}.`
  }
  return null
}
