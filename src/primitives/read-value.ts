/** Restores tagged values inside parsed JSON. Trusts nothing but JSON.parse: it never sets a prototype. */
import { taggedTypeByTag, tagKey } from './tagged-types.ts'

/** Returns the value, reusing and changing the given tree. Throws for tags and contents that it does not know. */
export function readValue(json: unknown): unknown {
  if (typeof json !== 'object' || json === null) return json
  if (Array.isArray(json)) return readArray(json)
  return Object.hasOwn(json, tagKey) ? readTagged(json as TaggedJson) : readMembers(json)
}

interface TaggedJson {
  readonly [tagKey]: unknown
  readonly value?: unknown
}

function readArray(items: unknown[]): unknown[] {
  for (let index = 0; index < items.length; index += 1) items[index] = readValue(items[index])
  return items
}

/** Every key is an own property already, made by JSON.parse, so assigning even to `__proto__` stays on the object. */
function readMembers(json: object): object {
  const members = json as Record<string, unknown>
  for (const key of Object.keys(members)) members[key] = readValue(members[key])
  return members
}

function readTagged(json: TaggedJson): unknown {
  const { [tagKey]: tag, value } = json
  if (tag === 'undefined') return undefined
  if (typeof value === 'string') return readText(tag, value)
  if (tag === 'set' && Array.isArray(value)) return new Set(readArray(value))
  if (tag === 'map' && Array.isArray(value)) return new Map(value.map(readPair))
  if (tag === 'object' && typeof value === 'object' && value !== null) return readMembers(value)
  throw unknownTag(tag)
}

function readText(tag: unknown, text: string): unknown {
  const type = taggedTypeByTag(String(tag))
  if (!type) throw unknownTag(tag)
  return type.read(text)
}

function readPair(pair: unknown): [unknown, unknown] {
  if (!Array.isArray(pair) || pair.length !== 2) throw new Error('a map holds something other than pairs')
  return [readValue(pair[0]), readValue(pair[1])]
}

function unknownTag(tag: unknown): Error {
  return new Error(`the tag ${JSON.stringify(tag)} is unknown or does not fit its value`)
}
