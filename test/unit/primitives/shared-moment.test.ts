/** A moment that threads share: it moves forward only, and all see the same. */
import { expect, it } from 'vitest'
import { processNow, SharedMoment } from '../../../src/primitives/shared-moment.ts'

it('every view of the same memory sees the latest moment that anybody has noted', () => {
  const mine = new SharedMoment()
  const theirs = new SharedMoment(mine.memory)
  mine.moveTo(2000)
  theirs.moveTo(3000.5)
  mine.moveTo(1000)
  expect([mine.at, theirs.at]).toEqual([3000.5, 3000.5])
})

it('the clock goes forward', () => {
  const before = processNow()
  expect(processNow()).toBeGreaterThanOrEqual(before)
})
