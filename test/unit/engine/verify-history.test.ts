/** Which attempts may be missing from a history that fits. */
import { expect, it } from 'vitest'
import { ancestryOf } from '../../../src/engine/ancestry.ts'
import { findFlaw } from '../../../src/engine/verify-history.ts'
import type { EndedExecution } from '../../../src/store/records.ts'

/** Attempts at one step, with these numbers. */
function attempts(numbers: readonly number[]): EndedExecution[] {
  return numbers.map(attempt => {
    const row = { id: `${attempt}`, node: 'poll', kind: 'forward', attempt, ordinal: attempt }
    return { ...row, ancestry: ancestryOf('poll', attempt, []) } as unknown as EndedExecution
  })
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index)
}

it.each([
  ['all of them', range(1, 150), null],
  ['the last 100', range(51, 150), null],
  ['some more, since each change drops only so many', range(20, 150), null],
  ['not the last 100', range(52, 150), 52],
  ['a gap among the last 100', range(51, 150).filter(attempt => attempt !== 140), 141],
  ['not the first of a few', range(2, 5), 2],
])('with %s', (_what, numbers, flaw) => {
  expect(findFlaw(attempts(numbers), [])?.attempt ?? null).toBe(flaw)
})
