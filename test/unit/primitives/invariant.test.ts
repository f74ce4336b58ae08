/** What `invariant` promises. */
import { expect, test } from 'vitest'
import { isGenevaError } from '../../../src/errors.ts'
import { invariant } from '../../../src/primitives/invariant.ts'

test('a condition that holds passes and narrows the type', () => {
  const value: string | null = ['text'][0] ?? null
  invariant(value, 'There is no value.')
  expect(value.length).toBe(4)
})

test('a condition that does not hold throws an InvariantError with the message', () => {
  try {
    invariant(0, 'Workflow 7 has no node.')
    expect.unreachable()
  } catch (error) {
    expect(isGenevaError(error, 'INVARIANT')).toBe(true)
    expect(String(error)).toContain('Workflow 7 has no node.')
  }
})
