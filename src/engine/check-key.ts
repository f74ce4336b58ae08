/**
 * Short texts that are stored in indexed columns: keys, tags, names of people.
 */
import { InvalidArgumentError } from '../errors.ts'

const maxLength = 191

/** Refuses what an index cannot hold, or what would not come back as it was. */
export function checkKey(text: unknown, what: string): string {
  if (typeof text !== 'string' || text === '' || text.length > maxLength) {
    throw new InvalidArgumentError(`${what} must be a text of 1 to ${maxLength} characters.`)
  }
  if (text.includes('\0') || /\p{Surrogate}/u.test(text)) {
    throw new InvalidArgumentError(`${what} must not contain NUL or half of a surrogate pair.`)
  }
  return text
}
