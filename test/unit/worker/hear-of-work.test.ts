/** A worker heeds word of other processes at once as long as that leads to claims, and ever less often when it does not. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { EndWatch } from '../../../src/engine/end-watch.ts'
import type { Engine } from '../../../src/engine/engine.ts'
import type { Hint } from '../../../src/store/hints.ts'
import { hearOfWork } from '../../../src/worker/hear-of-work.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Word comes every millisecond for a second. */
async function listenFor(claims: (looks: number) => number): Promise<{ looks: number; stops: number }> {
  let say = (_: Hint): void => {}
  const listen = (listener: (hint: Hint) => void) => {
    say = listener
    return () => {}
  }
  const seen = { looks: 0, stops: 0 }
  // Only these two are used.
  const engine = { ends: new EndWatch(), store: { hints: { send: () => {}, listen } } } as unknown as Engine
  const turnAway = hearOfWork(engine, {
    work: () => void seen.looks++,
    stop: () => void seen.stops++,
    claimed: () => claims(seen.looks),
  })
  for (let ms = 0; ms < 1000; ms++) {
    say('work')
    if (ms === 0) expect(seen.looks).toBe(1)
    await vi.advanceTimersByTimeAsync(1)
  }
  say('stop')
  await vi.advanceTimersByTimeAsync(1000)
  turnAway()
  return seen
}

it('of which all is good: every few milliseconds', async () => {
  const { looks, stops } = await listenFor(count => count)
  expect(looks).toBeGreaterThan(100)
  expect(looks).toBeLessThanOrEqual(201)
  expect(stops).toBe(1)
})

it('of which nothing is good: as rarely as it looks by itself', async () => {
  const { looks, stops } = await listenFor(() => 0)
  expect(looks).toBeGreaterThan(5)
  expect(looks).toBeLessThan(15)
  expect(stops).toBe(1)
})
