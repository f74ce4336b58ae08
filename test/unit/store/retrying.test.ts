/** How long something is tried again that others keep from being done: by time where many write, by tries where one does. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { Dialect } from '../../../src/store/sql/dialect.ts'
import { type RetryLimits, retriesWithin, retrying } from '../../../src/store/sql/retrying.ts'

const server = { manyWriters: true, classify: () => 'transient' } as unknown as Dialect
const file = { classify: () => 'transient' } as unknown as Dialect

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

/** Tries what takes so long each time and never gets through. */
async function triesOf(dialect: Dialect, ms: number, limits?: RetryLimits) {
  const begun = performance.now()
  let tries = 0
  const work = async () => {
    tries++
    vi.advanceTimersByTime(ms)
    throw new Error('locked')
  }
  let failure: unknown = null
  const ended = retrying(dialect, work, limits).catch(error => {
    failure = error
  })
  while (failure === null) await vi.advanceTimersByTimeAsync(250)
  await ended
  return { tries, tookMs: performance.now() - begun, failure }
}

it('on a server nothing waits for much more than a minute for what others have locked', async () => {
  const { tookMs, failure } = await triesOf(server, 2000)
  expect(tookMs).toBeGreaterThan(59_000)
  expect(tookMs).toBeLessThan(75_000)
  expect(String(failure)).toBe('Error: locked')
})

it('what is long by itself is not given up after one conflict', async () => {
  expect((await triesOf(server, 90_000)).tries).toBe(10)
})

it('in a file, where everybody waits for the same, only the tries count', async () => {
  expect((await triesOf(file, 2000)).tries).toBe(401)
})

it('whoever has little time gets an answer as soon as that is over', async () => {
  expect((await triesOf(server, 2000, retriesWithin(1500))).tries).toBe(1)
})

it('whoever has nothing else to do goes on for all tries', async () => {
  expect((await triesOf(server, 2000, retriesWithin(Infinity))).tries).toBe(401)
})
