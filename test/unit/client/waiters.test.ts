/** How often a process that waits for workflows looks for them, whatever the database is like. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { Waiters } from '../../../src/client/waiters.ts'
import { EndWatch } from '../../../src/engine/end-watch.ts'
import type { Engine } from '../../../src/engine/engine.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A look that takes so long, on a clock that only the test moves. */
function waitersThatTake(ms: number) {
  const looks = { made: 0, underWay: 0, most: 0, last: [] as readonly string[], isAway: false }
  const workflowStates = async (ids: readonly string[]) => {
    looks.made++
    looks.last = ids
    looks.most = Math.max(looks.most, ++looks.underWay)
    await new Promise(resolve => setTimeout(resolve, ms))
    looks.underWay--
    if (looks.isAway) throw new Error('away')
    return new Map(ids.map(id => [id, { id, state: 'ready' }]))
  }
  const openings = { runs: (id: string) => id === 'here' }
  const engine = { ends: new EndWatch(), openings, store: { workflowStates } } as unknown as Engine
  return { waiters: new Waiters(engine), looks }
}

it('one look is under way at a time, however many begin to wait meanwhile', async () => {
  const { waiters, looks } = waitersThatTake(1000)
  for (let id = 0; id < 100; id++) {
    void waiters.wait(String(id), Number.POSITIVE_INFINITY)
    await vi.advanceTimersByTimeAsync(10)
  }
  expect(looks).toMatchObject({ made: 1, most: 1 })
  await vi.advanceTimersByTimeAsync(60_000)
  expect(looks.most).toBe(1)
  expect(looks.made).toBeGreaterThan(1)
})

it('looks take a small part of the time only, also while ever more begin to wait', async () => {
  const { waiters, looks } = waitersThatTake(10)
  for (let id = 0; id < 1000; id++) {
    void waiters.wait(String(id), Number.POSITIVE_INFINITY)
    await vi.advanceTimersByTimeAsync(10)
  }
  // Ten seconds, of which a twentieth is half a second: fifty looks of ten milliseconds.
  expect(looks.made).toBeGreaterThan(10)
  expect(looks.made).toBeLessThanOrEqual(50)
})

it('whoever begins to wait is looked for soon, by themselves, however long the look at all others took', async () => {
  const { waiters, looks } = waitersThatTake(1000)
  for (let id = 0; id < 100; id++) void waiters.wait(String(id), Number.POSITIVE_INFINITY)
  await vi.advanceTimersByTimeAsync(1010)
  expect(looks).toMatchObject({ made: 1, underWay: 0 })
  void waiters.wait('late', Number.POSITIVE_INFINITY)
  await vi.advanceTimersByTimeAsync(300)
  expect(looks).toMatchObject({ made: 2, last: ['late'] })
  await vi.advanceTimersByTimeAsync(60_000)
  expect(looks.last).toHaveLength(101)
})

it('what a worker of this process is at is not looked for at once, but it is in the end', async () => {
  const { waiters, looks } = waitersThatTake(1)
  void waiters.wait('here', Number.POSITIVE_INFINITY)
  await vi.advanceTimersByTimeAsync(99)
  expect(looks.made).toBe(0)
  await vi.advanceTimersByTimeAsync(2)
  expect(looks.last).toEqual(['here'])
})

it('a look that found the database away is made again soon, however long it took', async () => {
  const { waiters, looks } = waitersThatTake(30_000)
  looks.isAway = true
  void waiters.wait('one', Number.POSITIVE_INFINITY)
  await vi.advanceTimersByTimeAsync(30_010)
  expect(looks).toMatchObject({ made: 2, underWay: 1 })
  looks.isAway = false
  await vi.advanceTimersByTimeAsync(30_000)
  // That one has found it, and is paid for.
  await vi.advanceTimersByTimeAsync(10_000)
  expect(looks).toMatchObject({ made: 2, underWay: 0 })
})

it('whoever began to wait while the database was away is looked for soon, also while others are not', async () => {
  const { waiters, looks } = waitersThatTake(1000)
  void waiters.wait('slow', Number.POSITIVE_INFINITY)
  await vi.advanceTimersByTimeAsync(1010)
  looks.isAway = true
  void waiters.wait('late', Number.POSITIVE_INFINITY)
  await vi.advanceTimersByTimeAsync(1250)
  looks.isAway = false
  expect(looks.last).toEqual(['late'])
  const { made } = looks
  await vi.advanceTimersByTimeAsync(2000)
  expect(looks.made).toBeGreaterThan(made)
  expect(looks.last).toEqual(['late'])
})
