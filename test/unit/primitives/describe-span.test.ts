/** Lengths of time in words. */
import { expect, it } from 'vitest'
import { describeSpan } from '../../../src/primitives/describe-span.ts'

it.each([
  [0, 'less than a second'],
  [999, 'less than a second'],
  [1000, '1 second'],
  [1999, '1 second'],
  [59_999, '59 seconds'],
  [60_000, '1 minute'],
  [90_000, '90 seconds'],
  [7 * 60_000 + 5000, '7 minutes'],
  [90 * 60_000, '90 minutes'],
  [36 * 3_600_000, '36 hours'],
  [10 * 86_400_000, '10 days'],
])('%s ms is %s', (ms, text) => {
  expect(describeSpan(ms)).toBe(text)
})
