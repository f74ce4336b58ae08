/** Restores tagged values inside parsed JSON. Trusts nothing but JSON.parse: it never sets a prototype. */
import { type ReadTag, taggedTypeByTag, tagKey } from './tagged-types.ts'

/**
 * Returns the value, reusing and changing the given tree. Throws for contents that it does not know, and for tags that
 * neither it nor `readTag` knows.
 */
export function readValue(json: unknown, readTag: ReadTag = refuseTag): unknown {
  if (typeof json !== 'object' || json === null) return json
  if (Array.isArray(json)) return readArray(json, readTag)
  return Object.hasOwn(json, tagKey) ? readTagged(json as TaggedJson, readTag) : readMembers(json, readTag)
}

/** For a `readTag` that meets a tag or contents of which it makes nothing. */
export function refuseTag(tag: unknown): never {
  throw new Error(`the tag ${JSON.stringify(tag)} is unknown or does not fit its value`)
}

interface TaggedJson {
  readonly [tagKey]: unknown
  readonly value?: unknown
}

function readArray(items: unknown[], readTag: ReadTag): unknown[] {
  for (let index = 0; index < items.length; index += 1) items[index] = readValue(items[index], readTag)
  return items
}

/** Every key is an own property already, made by JSON.parse, so assigning even to `__proto__` stays on the object. */
function readMembers(json: object, readTag: ReadTag): object {
  const members = json as Record<string, unknown>
  for (const key of Object.keys(members)) members[key] = readValue(members[key], readTag)
  return members
}

function readTagged(json: TaggedJson, readTag: ReadTag): unknown {
  const { [tagKey]: tag, value } = json
  if (tag === 'undefined') return undefined
  if (typeof value === 'string') {
    const type = taggedTypeByTag(String(tag))
    if (type) return type.read(value)
  }
  if (tag === 'set' && Array.isArray(value)) return new Set(readArray(value, readTag))
  if (tag === 'map' && Array.isArray(value)) return new Map(value.map(pair => readPair(pair, readTag)))
  if (tag === 'object' && typeof value === 'object' && value !== null) return readMembers(value, readTag)
  return readTag(tag, value)
}

function readPair(pair: unknown, readTag: ReadTag): [unknown, unknown] {
  if (!Array.isArray(pair) || pair.length !== 2) throw new Error('a map holds something other than pairs')
  return [readValue(pair[0], readTag), readValue(pair[1], readTag)]
}
