/**
 * How values rest in the database: plain JSON stays plain and can be queried; what JSON does not know is tagged as
 * `{ "$geneva": "date", "value": "..." }`. Refuses whatever would come back different, rather than losing it silently.
 */
import { SchemaError, ValueTooLargeError } from '../errors.ts'
import { describeError } from './describe-error.ts'
import { readValue } from './read-value.ts'
import type { ExtraTags } from './tagged-types.ts'
import { ValueWriter } from './value-writer.ts'

export interface EncodeOptions {
  /** Names the value in errors: `The output of step charge`. */
  readonly what: string
  /** The limit for the encoded text in UTF-8 bytes. */
  readonly maxBytes: number
  /** Lets values through that only the caller can read back, with `readValue` and the same tags. */
  readonly extraTags?: ExtraTags
}

/**
 * Returns JSON text without U+0000, or null (SQL NULL) for undefined. Throws `UnstorableValueError` for functions,
 * symbols, cycles and unknown classes, and `ValueTooLargeError` beyond `maxBytes`. `toJSON` is never called.
 */
export function encodeValue(value: unknown, options: EncodeOptions): string | null {
  if (value === undefined) return null
  const { what, maxBytes, extraTags } = options
  const text = new ValueWriter({ what, maxBytes, sortKeys: false, extraTags }).write(value)
  const bytes = Buffer.byteLength(text)
  if (bytes > maxBytes) throw new ValueTooLargeError(what, bytes, maxBytes)
  return text
}

/**
 * Restores what `encodeValue` wrote; plain JSON from elsewhere is read as it is. Objects without prototype come back
 * with the usual one. Throws `SchemaError` for text that is no JSON or has a tag this version does not know.
 */
export function decodeValue(text: string | null): unknown {
  if (text === null) return undefined
  try {
    return readValue(JSON.parse(text))
  } catch (error) {
    throw new SchemaError(
      `A stored value cannot be read: ${describeError(error).message}. It was damaged, or written by a newer version or runtime.`,
    )
  }
}

/**
 * Returns the same text for values that differ only in the order of object keys, for comparing and hashing. Has no size
 * limit, and tells undefined from null. Throws `UnstorableValueError` as `encodeValue` does.
 */
export function canonicalValue(value: unknown, what: string): string {
  return new ValueWriter({ what, maxBytes: Number.POSITIVE_INFINITY, sortKeys: true }).write(value)
}
