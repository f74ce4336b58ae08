/** What `sanitizeText` promises: storable text within the limit, whatever comes in. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sanitizeText } from '../../../src/primitives/sanitize-text.ts'

const hostile = { toString: () => ({}) }

test('clean text within the limit is left alone', () => {
  expect(sanitizeText('Zürich 🚲', 100)).toBe('Zürich 🚲')
  expect(sanitizeText('12345', 5)).toBe('12345')
})

test('NUL characters are removed', () => {
  expect(sanitizeText('a\0b\0', 100)).toBe('ab')
})

test('half surrogate pairs become replacement characters, whole ones stay', () => {
  expect(sanitizeText('\ud83d-\ude80-🚀', 100)).toBe('\ufffd-\ufffd-🚀')
})

test('longer text is cut and says so, within the limit', () => {
  expect(sanitizeText('x'.repeat(100), 20)).toBe('xxxx … (truncated)')
})

test('a cut never splits a character', () => {
  expect(sanitizeText('🚀'.repeat(100), 23)).toBe('🚀 … (truncated)')
  expect(sanitizeText('🚀🚀', 7)).toBe('🚀')
  expect(sanitizeText('é', 1)).toBe('')
})

test.each([0, -1, Number.NaN])('a limit of %s leaves nothing', limit => {
  expect(sanitizeText('text', limit)).toBe('')
})

test('other values are printed, and what cannot be printed is named so', () => {
  expect(sanitizeText(undefined, 100)).toBe('undefined')
  expect(sanitizeText(Symbol('s'), 100)).toBe('Symbol(s)')
  expect(sanitizeText(12n, 100)).toBe('12')
  expect(sanitizeText(hostile, 100)).toBe('(unprintable)')
  expect(sanitizeText(Object.create(null), 100)).toBe('(unprintable)')
})

test('any text comes out well formed, without NUL and within the limit', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), fc.nat(100), (text, limit) => {
      const units = text + String.fromCharCode(0xd800 + (limit % 0x800))
      const result = sanitizeText(units, limit)
      expect(Buffer.byteLength(result)).toBeLessThanOrEqual(limit)
      expect(Buffer.from(result).toString()).toBe(result)
      expect(result).not.toContain('\0')
    }),
  )
})

test('it never throws, whatever comes in', () => {
  fc.assert(
    fc.property(
      fc.anything({ withNullPrototype: true, withBigInt: true, withSparseArray: true }),
      fc.double(),
      (value, limit) => {
        expect(typeof sanitizeText(value, limit)).toBe('string')
      },
    ),
  )
})
