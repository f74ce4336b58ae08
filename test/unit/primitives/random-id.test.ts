/** What `randomId` promises. */
import { expect, test } from 'vitest'
import { InvariantError } from '../../../src/errors.ts'
import { randomId } from '../../../src/primitives/random-id.ts'

test('an id has 16 random bytes in lower-case hex unless told otherwise', () => {
  expect(randomId()).toMatch(/^[0-9a-f]{32}$/)
  expect(randomId(4)).toMatch(/^[0-9a-f]{8}$/)
})

test('ids do not repeat', () => {
  expect(new Set(Array.from({ length: 1_000 }, () => randomId())).size).toBe(1_000)
})

test.each([0, -1, 1.5, Number.NaN])('an id of %s bytes is refused', bytes => {
  expect(() => randomId(bytes)).toThrow(InvariantError)
})
