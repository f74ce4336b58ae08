/** What was rejected goes out again, in parts or after a rest, and keeps nothing waiting that might go through. */
import { afterEach, describe, expect, it, vi } from 'vitest'
import { type Attempt, ForGood, NotYet } from '../../../src/primitives/batch-group.ts'
import { type Answer, Batcher } from '../../../src/primitives/batcher.ts'
import { pass, turns, withClock } from '../../support/played-clock.ts'

afterEach(() => {
  vi.useRealTimers()
})

/** Rejects whatever has an item of one of these kins, alone or not, until it may be written. */
function stubborn(kins: string, log: string[]) {
  const refused = new Set(kins)
  const options = {
    maxGroup: 100,
    maxItems: 200,
    kinOf: (item: string) => item[0] ?? '',
    write: async (items: readonly string[], attempt: Attempt) => {
      log.push(items.join(' '))
      if (!attempt.kins.some(kin => refused.has(kin))) return items
      if (attempt.kins.length > 1) throw new Error('Not together.')
      throw new NotYet(new Error('Locked.'), { restMs: 1000, ofKin: true })
    },
  }
  return { options, allow: (kin: string) => refused.delete(kin) }
}

it('what has to rest takes no place, goes out again as it is, and keeps its kin waiting but nobody else', async () => {
  withClock()
  const log: string[] = []
  const { options, allow } = stubborn('a', log)
  const batcher = new Batcher<string, string>({ ...options, mostWrites: 1, mostLong: 1 })
  const all = [batcher.add('a1'), batcher.add('a2')]
  await turns()
  all.push(batcher.add('a3'), batcher.add('b1'))
  await turns()
  expect(log).toEqual(['a1 a2', 'b1'])
  vi.advanceTimersByTime(1000)
  await turns()
  expect(log).toEqual(['a1 a2', 'b1', 'a1 a2'])
  allow('a')
  vi.advanceTimersByTime(1000)
  await turns()
  expect(log.slice(3)).toEqual(['a1 a2', 'a3'])
  expect(await Promise.all(all)).toEqual(['a1', 'a2', 'a3', 'b1'])
  vi.advanceTimersByTime(300)
  expect(vi.getTimerCount()).toBe(0)
})

it('a group of many is parted by kin, and in two steps at most', async () => {
  withClock()
  const log: string[] = []
  const { options, allow } = stubborn('z', log)
  const batcher = new Batcher<string, string>({ ...options, mostWrites: 4 })
  const kins = 'abcdefghijklmnopqrstuvwxy'
  const items = [...kins.toUpperCase(), ...kins, 'z'].flatMap(kin => [`${kin}1`, `${kin}2`])
  const answers: string[] = []
  const all = items.map(item => batcher.add(item).then(answer => answers.push(answer)))
  await turns()
  expect(answers.toSorted()).toEqual(items.slice(0, -2).toSorted())
  expect(log[1]).toBe('A1 A2 B1 B2')
  expect(log.slice(-1)).toEqual(['z1 z2'])
  allow('z')
  vi.advanceTimersByTime(1000)
  await Promise.all(all)
})

it('however much hangs that was rejected or has rested, what comes after it goes out', async () => {
  withClock()
  const log: string[] = []
  const written = { fresh: 0 }
  const batcher = new Batcher<string, string>({
    maxGroup: 50,
    crowd: 50,
    kinOf: item => item,
    write: async (items, attempt) => {
      log.push(items.join(' '))
      if (items[0]?.startsWith('good')) return items
      if (!attempt.again) throw new Error('Not together.')
      await new Promise(resolve => setTimeout(resolve, 2000))
      throw new NotYet(new Error('Locked.'), { restMs: 100, ofKin: true })
    },
  })
  for (let index = 0; index < 40; index++) void batcher.add(`bad ${index}`)
  await turns()
  for (let second = 0; second < 20; second++) {
    void batcher.add(`good ${second}`).then(() => written.fresh++)
    for (let part = 0; part < 10; part++) {
      vi.advanceTimersByTime(100)
      await turns()
    }
    expect(written.fresh).toBe(second + 1)
  }
  // And those that were rejected are tried each in its turn.
  expect(new Set(log.filter(line => line.startsWith('bad')).flatMap(line => line.split(' bad '))).size).toBeGreaterThan(
    20,
  )
})

it.each([
  [1, 1, 60],
  [4, 2, 250],
])(
  'with %i writes and %i long ones, %i that fail at once, again and again, keep nothing else waiting',
  async (mostWrites, mostLong, bad) => {
    withClock()
    const batcher = new Batcher<string, string>({
      maxGroup: 250,
      crowd: 100,
      mostWrites,
      mostLong,
      kinOf: item => item,
      write: async (items, { rests }) => {
        const isGood = items[0]?.startsWith('good') === true
        await new Promise(resolve => setTimeout(resolve, isGood ? 5 : 150))
        if (isGood) return items
        if (items.length > 1 && rests >= 4) throw new Error('Not together.')
        throw new NotYet(new Error('Refused.'), { restMs: Math.min(125 * 2 ** rests, 5000), ofKin: false })
      },
    })
    for (let index = 0; index < bad; index++) void batcher.add(`bad ${index}`)
    await pass(20_000)
    let written = 0
    for (let index = 1; index <= 10; index++) {
      void batcher.add(`good ${index}`).then(() => written++)
      await pass(400)
      expect(written).toBe(index)
    }
  },
)

/** After four seconds `x` is free. What is `bad` never is, and either is told so after two seconds. */
function lockedFor(mostWrites: number, mostLong: number) {
  const begun = performance.now()
  const hasMet = new Set<string>()
  const isRefused = (item: string) => item.startsWith('bad') || (item === 'x' && performance.now() - begun < 4000)
  return new Batcher<string, string>({
    maxGroup: 250,
    crowd: 100,
    mostWrites,
    mostLong,
    kinOf: item => item,
    write: async (items, { kins }) => {
      if (items.includes('deadlock') && !hasMet.has('deadlock')) {
        hasMet.add('deadlock')
        throw new NotYet(new Error('Deadlock found.'), { restMs: 10, ofKin: true, isOver: true })
      }
      if (!items.some(isRefused)) return items
      await new Promise(resolve => setTimeout(resolve, 2000))
      if (kins.length > 1) throw new Error('Not together.')
      throw new NotYet(new Error('Locked.'), { restMs: 1000, ofKin: true })
    },
  })
}

describe.each([
  // When the parts that are under way have come to their end.
  [4, 2, 1100],
  [2, 1, 1100],
  [1, 1, 1600],
])(
  'with %i writes and %i long ones, beside the parts of a group of which nothing goes through',
  (writes, long, within) => {
    it.each([
      ['what has rested and is free by now', [] as string[]],
      ['a group that has met a deadlock', ['deadlock']],
    ])('%s goes out soon', async (_, beside) => {
      withClock()
      const batcher = lockedFor(writes, long)
      const answers: string[] = []
      const add = (item: string) => void batcher.add(item).then(answer => answers.push(answer))
      if (beside.length === 0) add('x')
      await pass(2500)
      for (let index = 0; index < 250; index++) add(`bad ${index}`)
      await pass(3000)
      for (const item of beside) add(item)
      if (beside.length > 0) add('x')
      await pass(within)
      expect(answers).toEqual([...beside, 'x'])
    })

    it('parts that go through do not wait for what has rested and hangs again', async () => {
      withClock()
      const batcher = lockedFor(writes, long)
      for (let index = 0; index < 20; index++) {
        void batcher.add(`bad ${index}`)
        await turns()
      }
      // All of them stand alone by now, and go out again as often as they can.
      await pass(120_000)
      let written = 0
      for (let index = 0; index < 30; index++) void batcher.add(`good ${index}`).then(() => written++)
      void batcher.add('bad company')
      await pass(8000)
      expect(written).toBe(30)
    })
  },
)

it('what is answered before the rest of its group is rejected is not tried again, nor keeps its kin waiting', async () => {
  withClock()
  const log: string[] = []
  const batcher = new Batcher<string, string>({
    maxGroup: 10,
    kinOf: item => item[0] ?? '',
    write: async (items: readonly string[], { again }: Attempt, answer: Answer<string, string>) => {
      log.push(`${items.join(' ')}${again ? ' again' : ''}`)
      if (!items.some(item => item.startsWith('l'))) return items.map(item => item.toUpperCase())
      answer(new Map(items.filter(item => item.startsWith('a')).map(item => [item, item.toUpperCase()])))
      await new Promise(resolve => setTimeout(resolve, 2000))
      throw new Error('Locked.')
    },
  })
  const known = ['a1', 'a2'].map(item => batcher.add(item))
  const rest = Promise.allSettled(['b1', 'l1'].map(item => batcher.add(item)))
  await turns()
  expect(await Promise.all(known)).toEqual(['A1', 'A2'])
  const next = batcher.add('a3')
  await pass(400)
  expect(await next).toBe('A3')
  await pass(5000)
  expect(await rest).toMatchObject([{ value: 'B1' }, { reason: { message: 'Locked.' } }])
  expect(log).toEqual(['a1 a2 b1 l1', 'a3', 'b1 again', 'l1 again'])
})

it('a group that is rejected for good is rejected as a whole, and at once', async () => {
  const log: number[] = []
  const batcher = new Batcher<number, number>({
    maxGroup: 250,
    maxItems: 250,
    kinOf: () => 'one and the same',
    write: async items => {
      log.push(items.length)
      throw new ForGood(new Error('Enough.'))
    },
  })
  const all = await Promise.allSettled(Array.from({ length: 250 }, (_, index) => batcher.add(index)))
  expect(new Set(all.map(result => result.status === 'rejected' && result.reason.message))).toEqual(
    new Set(['Enough.']),
  )
  expect(log).toEqual([250])
})

it('what a part has waited for counts from the first write of its group', async () => {
  withClock()
  const ends: number[] = []
  const batcher = new Batcher<number, number>({
    maxGroup: 250,
    kinOf: () => 'one and the same',
    write: async (_, { firstAt }) => {
      await new Promise(resolve => setTimeout(resolve, 2000))
      if (performance.now() - firstAt > 20_000) throw new Error('Enough.')
      throw new NotYet(new Error('Locked.'), { restMs: 1000, ofKin: true })
    },
  })
  const begun = performance.now()
  for (const item of [1, 2]) void batcher.add(item).catch(() => ends.push(performance.now() - begun))
  for (let second = 0; second < 40; second++) {
    vi.advanceTimersByTime(1000)
    await turns()
  }
  expect(ends).toHaveLength(2)
  expect(Math.max(...ends)).toBeLessThan(30_000)
})
