/**
 * What the files of this folder agree on: each knows the handles of one library by their shape and says how to send a
 * statement through them. None imports the library.
 */
import type { Rendered, Sql } from '../sql.ts'

export type DatabaseKind = 'postgres' | 'mysql' | 'sqlite'

/** Something that may be a handle; nothing is known about it yet. */
export type Candidate = Readonly<Record<PropertyKey, unknown>>

/** Lists arrive as text in the notation of the database, so that no library has to know about them. */
export type Scalar = string | number | bigint | null

export interface Message {
  readonly text: string
  readonly values: readonly Scalar[]
}

interface Named {
  /** For messages: `a pg client`. */
  readonly what: string
  /** `other`: none that workflows can be kept in. `null`: the library does not tell. */
  readonly kind: DatabaseKind | 'other' | null
}

export interface Usable extends Named {
  /** Sends a statement and returns the library's own answer. */
  send(message: Message, wanted: 'rows' | 'count'): Promise<unknown>
  /** For a library with placeholders of its own. */
  render?(statement: Sql): Rendered
}

export interface Refused extends Named {
  /** Why it cannot be used and what to do instead: the rest of a sentence that begins with `what`. */
  readonly refusal: string
}

export type Recognized = Usable | Refused

/** Says what it knows about a handle of its library, or `null` about any other. */
export type Recognize = (handle: Candidate) => Recognized | null

/** True if all of the names are methods of the handle. */
export function hasMethods(handle: Candidate, ...names: readonly string[]): boolean {
  return names.every(name => typeof handle[name] === 'function')
}
