/** Hints go out at once when none went out lately, ever less often where many come, and one that is lost holds up no other. */
import type pg from 'pg'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { PostgresHints } from '../../../src/store/postgres/postgres-hints.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Each takes that long, and fails if told to. */
function hintsTo(sent: string[][], { takesMs = 0, fails = false } = {}): PostgresHints {
  const query = async (_text: string, [, words]: [string, string[]]) => {
    sent.push(words.map(word => word.split(' ')[0] ?? ''))
    if (takesMs > 0) await new Promise(resolve => setTimeout(resolve, takesMs))
    if (fails) throw new Error('away')
  }
  // Nothing else of a pool is used.
  return new PostgresHints({ pool: { query } as unknown as pg.Pool, connect: () => null as never, channel: 'hints' })
}

it('the first is sent before the call returns, and what comes meanwhile as one', async () => {
  const sent: string[][] = []
  const hints = hintsTo(sent)
  hints.send('work')
  expect(sent).toEqual([['work']])
  for (let count = 0; count < 100; count++) hints.send(count % 2 ? 'work' : 'stop')
  await vi.advanceTimersByTimeAsync(100)
  expect(sent).toEqual([['work'], ['stop', 'work']])
})

it.each([0, 10])('where many come there are few, also when each takes %d ms', async takesMs => {
  const sent: string[][] = []
  const hints = hintsTo(sent, { takesMs })
  for (let ms = 0; ms < 1000; ms++) {
    hints.send('work')
    await vi.advanceTimersByTimeAsync(1)
  }
  expect(sent.length).toBeGreaterThan(15)
  expect(sent.length).toBeLessThan(35)
})

it.each([10, 3])('those that come one by one, with %d ms in between, all go out at once', async betweenMs => {
  const sent: string[][] = []
  const hints = hintsTo(sent)
  for (let count = 1; count <= 50; count++) {
    hints.send('work')
    expect(sent.length).toBe(count)
    await vi.advanceTimersByTimeAsync(betweenMs)
  }
})

it('where sending takes long it is rested for, also between those that come one by one', async () => {
  const sent: string[][] = []
  const hints = hintsTo(sent, { takesMs: 1 })
  hints.send('work')
  await vi.advanceTimersByTimeAsync(1)
  hints.send('work')
  await vi.advanceTimersByTimeAsync(4)
  expect(sent.length).toBe(1)
  await vi.advanceTimersByTimeAsync(1)
  expect(sent.length).toBe(2)
})

it('one that cannot be sent does not keep back those after it', async () => {
  const sent: string[][] = []
  const hints = hintsTo(sent, { fails: true })
  hints.send('work')
  hints.send('stop')
  await vi.advanceTimersByTimeAsync(100)
  expect(sent).toEqual([['work'], ['stop']])
})
