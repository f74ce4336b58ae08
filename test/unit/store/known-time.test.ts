/** The time of the database for whoever can do with one that is a little off. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { SqlContext } from '../../../src/store/sql/context.ts'
import { KnownTime } from '../../../src/store/sql/known-time.ts'
import { raw } from '../../../src/store/sql/sql.ts'

const begun = 1_700_000_000_000_000
const server = { time: begun, asked: 0 }

/** As much of a context as is asked for the time, on a server whose clock stands still. */
const context = {
  now: raw('now()'),
  clockOffset: 0,
  read: async () => {
    server.asked++
    return [{ now: server.time + context.clockOffset }]
  },
}

beforeEach(() => {
  Object.assign(server, { time: begun, asked: 0 })
  context.clockOffset = 0
  vi.useFakeTimers({ toFake: ['performance'] })
})
afterEach(() => void vi.useRealTimers())

const open = () => new KnownTime(context as unknown as SqlContext)

it('the database is asked once, and this process tells how much time has passed since', async () => {
  const time = open()
  expect(await time.now()).toBe(begun)
  vi.advanceTimersByTime(1500)
  expect(await time.now()).toBe(begun + 1_500_000)
  expect(server.asked).toBe(1)
})

it('it is asked again after a while, so that the clocks do not part', async () => {
  const time = open()
  await time.now()
  vi.advanceTimersByTime(10_000)
  server.time = begun + 10_007_000
  expect(await time.now()).toBe(begun + 10_007_000)
  expect(server.asked).toBe(2)
})

it('the clock of the test kit counts, whenever it is moved', async () => {
  const time = open()
  context.clockOffset = 5_000_000
  expect(await time.now()).toBe(begun + 5_000_000)
  context.clockOffset = 60_000_000
  expect(await time.now()).toBe(begun + 60_000_000)
  expect(server.asked).toBe(1)
})
