/** What `pauseFor` and `jittered` promise. */
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { jittered, pauseFor } from '../../../src/primitives/pause-for.ts'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

/** Starts a pause and returns a function that tells whether it is over. */
function watched(ms: number, signal?: AbortSignal): () => Promise<boolean> {
  let over = false
  pauseFor(ms, signal).then(() => {
    over = true
  })
  return async () => {
    await vi.advanceTimersByTimeAsync(0)
    return over
  }
}

test('a pause ends after its time and not before', async () => {
  const isOver = watched(1_000)
  await vi.advanceTimersByTimeAsync(999)
  expect(await isOver()).toBe(false)
  await vi.advanceTimersByTimeAsync(1)
  expect(await isOver()).toBe(true)
})

test('an abort ends a pause at once and leaves no timer', async () => {
  const controller = new AbortController()
  const isOver = watched(1_000, controller.signal)
  expect(await isOver()).toBe(false)
  controller.abort(new Error('not to be seen'))
  expect(await isOver()).toBe(true)
  expect(vi.getTimerCount()).toBe(0)
})

test('a pause with a signal that is aborted already is over at once', async () => {
  expect(await watched(1_000, AbortSignal.abort())()).toBe(true)
  expect(vi.getTimerCount()).toBe(0)
})

test('a pause that ran its time leaves no listener on the signal', async () => {
  const { signal } = new AbortController()
  const removed = vi.spyOn(signal, 'removeEventListener')
  const isOver = watched(5, signal)
  await vi.advanceTimersByTimeAsync(5)
  expect(await isOver()).toBe(true)
  expect(removed).toHaveBeenCalledWith('abort', expect.any(Function))
})

test('a pause beyond the reach of a timer ends after its time, too', async () => {
  const days = 24 * 60 * 60 * 1000
  const isOver = watched(60 * days)
  await vi.advanceTimersByTimeAsync(60 * days - 1)
  expect(await isOver()).toBe(false)
  await vi.advanceTimersByTimeAsync(1)
  expect(await isOver()).toBe(true)
})

test('a pause without an end lasts until the signal aborts, and leaves no timer', async () => {
  const controller = new AbortController()
  const isOver = watched(Number.POSITIVE_INFINITY, controller.signal)
  await vi.advanceTimersByTimeAsync(2 ** 33)
  expect(await isOver()).toBe(false)
  controller.abort()
  expect(await isOver()).toBe(true)
  expect(vi.getTimerCount()).toBe(0)
})

test.each([0, -5, Number.NaN])('a pause of %s ms ends at once', async ms => {
  expect(await watched(ms)()).toBe(true)
})

test('jitter only adds, and at most its fraction', () => {
  fc.assert(
    fc.property(fc.nat(1_000_000), fc.double({ min: 0, max: 2, noNaN: true }), (ms, fraction) => {
      const result = jittered(ms, fraction)
      expect(result).toBeGreaterThanOrEqual(ms)
      expect(result).toBeLessThanOrEqual(ms * (1 + fraction) + 1e-6)
      expect(Number.isInteger(result)).toBe(true)
    }),
  )
})

test('jitter is a tenth unless told otherwise', () => {
  const results = Array.from({ length: 1_000 }, () => jittered(1_000))
  expect(Math.max(...results)).toBeLessThan(1_100)
  expect(new Set(results).size).toBeGreaterThan(10)
})
