/** Round trips of the codec over generated values. */
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isGenevaError } from '../../../src/errors.ts'
import { canonicalValue, decodeValue, encodeValue } from '../../../src/primitives/json-codec.ts'

const options = { what: 'The value', maxBytes: 10_000_000 }
const roundTrip = (value: unknown) => decodeValue(encodeValue(value, options))

/** Any UTF-16, halves of pairs and NUL included. */
const anyText = fc
  .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 10 })
  .map(units => String.fromCharCode(...units))
const anyKey = fc.oneof(
  fc.string({ unit: 'grapheme' }).filter(key => !key.includes('\0')),
  fc.constantFrom('$geneva', 'value', '__proto__', 'constructor', 'toJSON', 'length', '0', ''),
)

const { storable } = fc.letrec<{ storable: unknown }>(tie => ({
  storable: fc.oneof(
    { depthSize: 'medium', withCrossShrink: true },
    fc.oneof(
      anyText,
      fc.constantFrom('date', 'object', 'map', null, true, false, -0, Number.NaN, Number.NEGATIVE_INFINITY),
      fc.double(),
      fc.bigInt(),
      fc.date({ noInvalidDate: true }),
      fc.uint8Array({ maxLength: 20 }),
      fc.webUrl().map(text => new URL(text)),
    ),
    fc.array(fc.oneof(tie('storable'), fc.constant(undefined)), { maxLength: 5 }),
    fc.array(fc.tuple(anyKey, tie('storable')), { maxLength: 5 }).map(members => Object.fromEntries(members)),
    fc.array(fc.tuple(tie('storable'), tie('storable')), { maxLength: 3 }).map(pairs => new Map(pairs)),
    fc.array(tie('storable'), { maxLength: 3 }).map(items => new Set(items)),
  ),
}))

/** The same value with the keys of each plain object in reverse order. */
function shuffled(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shuffled)
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, shuffled(member)]),
  )
}

test('every storable value comes back strictly equal', () => {
  fc.assert(
    fc.property(storable, value => {
      expect(isDeepStrictEqual(roundTrip(value), value)).toBe(true)
    }),
    { numRuns: 2_000 },
  )
})

test('what comes back is encoded to the same text', () => {
  fc.assert(
    fc.property(storable, value => {
      expect(encodeValue(roundTrip(value), options)).toBe(encodeValue(value, options))
    }),
  )
})

test('stored text is well-formed JSON without U+0000', () => {
  fc.assert(
    fc.property(storable, value => {
      const text = encodeValue(value, options) ?? ''
      expect(Buffer.from(text).toString()).toBe(text)
      expect(text).not.toContain('\0')
      JSON.parse(text, (key, member) => {
        expect(key + String(typeof member === 'string' ? member : '')).not.toContain('\0')
        return member
      })
    }),
  )
})

test('plain JSON is stored exactly as JSON.stringify writes it', () => {
  fc.assert(
    fc.property(
      fc.jsonValue().map(raw => JSON.stringify(raw)),
      json => {
        const value: unknown = JSON.parse(json)
        expect(encodeValue(value, options)).toBe(JSON.stringify(value))
      },
    ),
  )
})

test('the canonical form does not depend on the order of keys', () => {
  fc.assert(
    fc.property(storable, value => {
      expect(canonicalValue(shuffled(value), 'x')).toBe(canonicalValue(value, 'x'))
      expect(isDeepStrictEqual(decodeValue(canonicalValue(value, 'x')), value)).toBe(true)
    }),
  )
})

test('whatever comes in is stored or refused with an error of ours', () => {
  const anything = fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withSet: true,
    withTypedArray: true,
    withNullPrototype: true,
    withBoxedValues: true,
    withSparseArray: true,
  })
  fc.assert(
    fc.property(anything, value => {
      try {
        roundTrip(value)
      } catch (error) {
        expect(isGenevaError(error, 'UNSTORABLE_VALUE') || isGenevaError(error, 'VALUE_TOO_LARGE')).toBe(true)
      }
    }),
    { numRuns: 1_000 },
  )
})

test('any JSON text is read or refused with an error of ours', () => {
  const tag = fc.constantFrom(
    'date',
    'bigint',
    'map',
    'set',
    'object',
    'text',
    'number',
    'url',
    'bytes',
    'undefined',
    'x',
  )
  const tagged = fc.record({ $geneva: tag, value: fc.jsonValue() })
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.json(),
        tagged.map(json => JSON.stringify(json)),
      ),
      text => {
        try {
          decodeValue(text)
        } catch (error) {
          expect(isGenevaError(error, 'SCHEMA')).toBe(true)
        }
      },
    ),
    { numRuns: 1_000 },
  )
})
