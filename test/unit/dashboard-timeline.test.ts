/** The bars of a timeline: waiting is time as well, and every bar can be seen. */
import { expect, it } from 'vitest'
import { barOf, placeOf } from '../../dashboard/src/pages/timeline-bars.ts'

const at = (seconds: number) => new Date(seconds * 1000).toISOString()
const attempt = {
  state: 'failed',
  createdAt: at(10),
  scheduledFor: at(30),
  startedAt: at(30),
  endedAt: at(31),
} as const

it('an attempt that has waited for somebody has waited since it came to be', () => {
  expect(barOf(attempt, 99_000)).toMatchObject({ from: 10_000, began: 30_000, to: 31_000 })
})

it('an attempt that waits for somebody waits until now, and runs not at all', () => {
  const waiting = { ...attempt, state: 'waiting', startedAt: at(11), endedAt: null } as const
  expect(barOf(waiting, 20_000)).toMatchObject({ from: 10_000, began: 20_000, to: 20_000 })
})

it('an attempt that has not begun is a point when it is due', () => {
  const planned = { ...attempt, state: 'scheduled', startedAt: null, endedAt: null } as const
  expect(barOf(planned, 20_000)).toMatchObject({ from: 10_000, began: 30_000, to: 30_000 })
})

it('a bar at the very end is seen', () => {
  const all = { first: 0, last: 10_000 }
  expect(placeOf(10_000, 10_000, all)).toEqual({ x: '99.60%', width: '0.40%' })
  expect(placeOf(0, 5000, all)).toEqual({ x: '0.00%', width: '50.00%' })
})
