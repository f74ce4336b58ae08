/** When those who watch everything are told to look again: no change is the last one that they do not hear of. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { LiveChanges } from '../../../src/client/views/live-changes.ts'
import type { NumberWindow } from '../../../src/store/event-store.ts'
import type { Store } from '../../../src/store/store.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const pollMs = 1000

/** A record whose last number and open transactions only the test changes. */
function watchedRecord() {
  const record = { last: 0, isOpen: false, isAway: false, windows: [] as NumberWindow[] }
  const store = {
    lastEvent: async () => record.last,
    settleEvents: async (window: NumberWindow) => {
      record.windows.push(window)
      if (record.isAway) throw new Error('away')
      const { after, upTo } = window
      return record.isOpen ? { settled: after, memory: { upTo, mark: 'writer' } } : { settled: upTo, memory: null }
    },
    views: { latestEvents: async () => new Map() },
  } as unknown as Store
  const heard: string[] = []
  const changes = new LiveChanges(async () => store, pollMs)
  changes.watch(
    null,
    ({ position }) => heard.push(position),
    () => {},
  )
  /** How often they are told at the next looks. */
  const looks = async (count: number) => {
    heard.length = 0
    await vi.advanceTimersByTimeAsync(count * pollMs)
    return heard.length
  }
  return { record, looks, heard }
}

it('while nothing happens nobody is told, and nothing but the last number is asked for', async () => {
  const { record, looks } = watchedRecord()
  await looks(3)
  record.windows.length = 0
  expect(await looks(10)).toBe(0)
  expect(record.windows).toEqual([])
})

it('a change whose number was seen before its commit is told once more after it', async () => {
  const { record, looks, heard } = watchedRecord()
  await looks(3)
  record.last = 42
  expect(await looks(1)).toBe(1)
  // It is committed now, and nothing rises any more.
  expect(await looks(1)).toBe(1)
  expect(heard).toEqual(['42'])
  expect(await looks(10)).toBe(0)
})

it('while a transaction that has a number is open they are told, and once more when it has ended', async () => {
  const { record, looks } = watchedRecord()
  await looks(3)
  record.last = 42
  record.isOpen = true
  expect(await looks(5)).toBe(5)
  expect(record.windows.at(-1)).toEqual({ after: 0, upTo: 42, memory: { upTo: 42, mark: 'writer' } })
  record.isOpen = false
  expect(await looks(1)).toBe(1)
  expect(await looks(10)).toBe(0)
})

it('a database that is away when they are to be told again is asked until they were', async () => {
  const { record, looks } = watchedRecord()
  await looks(3)
  record.last = 42
  await looks(1)
  record.isAway = true
  expect(await looks(3)).toBe(0)
  record.isAway = false
  expect(await looks(1)).toBe(1)
  expect(await looks(10)).toBe(0)
})
