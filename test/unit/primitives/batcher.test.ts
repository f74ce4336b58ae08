/** Group commit: nothing waits for a timer, nothing is written twice unawares, and one bad item spoils no other. */
import { afterEach, expect, it, vi } from 'vitest'
import type { Attempt } from '../../../src/primitives/batch-group.ts'
import { Batcher } from '../../../src/primitives/batcher.ts'
import { turns, withClock } from '../../support/played-clock.ts'

function recorder(fails: (items: readonly string[]) => boolean = () => false) {
  const writes: { items: string[]; again: boolean }[] = []
  const open: (() => void)[] = []
  return {
    writes,
    /** Lets the oldest write under way end. */
    release: () => open.shift()?.(),
    write: async (items: readonly string[], { again }: Attempt) => {
      writes.push({ items: [...items], again })
      await new Promise<void>(resolve => open.push(resolve))
      if (fails(items)) throw new Error(`no ${items.join()}`)
      return items.map(item => item.toUpperCase())
    },
  }
}

afterEach(() => {
  vi.useRealTimers()
})

it('what is added in one turn goes out together, and what comes meanwhile forms the next group', async () => {
  const log = recorder()
  const batcher = new Batcher<string, string>({ write: log.write, maxGroup: 10 })
  const first = [batcher.add('a'), batcher.add('b')]
  await turns()
  const second = [batcher.add('c'), batcher.add('d')]
  await turns()
  expect(log.writes.map(write => write.items)).toEqual([['a', 'b']])
  log.release()
  expect(await Promise.all(first)).toEqual(['A', 'B'])
  await turns()
  log.release()
  expect(await Promise.all(second)).toEqual(['C', 'D'])
  expect(log.writes.map(write => write.items)).toEqual([
    ['a', 'b'],
    ['c', 'd'],
  ])
})

it('what one answer sets going goes out together, by however many promises it comes', async () => {
  const log = recorder()
  const batcher = new Batcher<string, string>({ write: log.write, maxGroup: 10 })
  const later = async (item: string, promises: number) => {
    for (let i = 0; i < promises; i++) await null
    return batcher.add(item)
  }
  const all = Promise.all([later('a', 0), later('b', 3), later('c', 30)])
  await turns()
  log.release()
  expect(await all).toEqual(['A', 'B', 'C'])
  expect(log.writes.map(write => write.items)).toEqual([['a', 'b', 'c']])
})

it('what an answer sets going goes out with what was waiting for it', async () => {
  const log = recorder()
  const batcher = new Batcher<string, string>({ write: log.write, maxGroup: 10 })
  const next = batcher.add('a').then(async () => {
    for (let i = 0; i < 5; i++) await null
    return batcher.add('b')
  })
  await turns()
  const waiting = batcher.add('c')
  await turns()
  log.release()
  await turns()
  log.release()
  expect(await Promise.all([next, waiting])).toEqual(['B', 'C'])
  expect(log.writes.map(write => write.items)).toEqual([['a'], ['c', 'b']])
})

it('a rejected group is parted until the culprit stands alone, and is told that it is written again', async () => {
  const log = recorder(items => items.includes('bad'))
  const batcher = new Batcher<string, string>({ write: log.write, maxGroup: 10 })
  const results = Promise.allSettled(['a', 'bad', 'c', 'd'].map(item => batcher.add(item)))
  for (let i = 0; i < 10; i++) {
    await turns()
    log.release()
  }
  expect((await results).map(result => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled'])
  expect(log.writes.map(write => write.again)).toEqual([false, true, true, true, true])
})

it('a part that was written is answered while another one is still being written', async () => {
  const log = recorder(items => items.length > 2 || items.includes('d'))
  const options = { write: log.write, maxGroup: 10, kinOf: (item: string) => (item < 'c' ? 'early' : 'late') }
  const batcher = new Batcher<string, string>(options)
  const [a, ...others] = ['a', 'b', 'c', 'd'].map(item => batcher.add(item))
  const settled = Promise.allSettled(others)
  await turns()
  log.release()
  await turns()
  log.release()
  expect(await a).toBe('A')
  await turns()
  expect(log.writes.at(-1)?.items).toEqual(['c', 'd'])
  for (let left = 0; left < 3; left++) {
    log.release()
    await turns()
  }
  expect((await settled).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected'])
})

it('two items with one key never share a group', async () => {
  const log = recorder()
  const batcher = new Batcher<string, string>({ write: log.write, maxGroup: 10, keyOf: item => item[0] ?? '' })
  const all = Promise.all(['a1', 'a2', 'b1'].map(item => batcher.add(item)))
  await turns()
  log.release()
  await turns()
  log.release()
  expect(await all).toEqual(['A1', 'A2', 'B1'])
  expect(log.writes.map(write => write.items)).toEqual([['a1', 'b1'], ['a2']])
})

it('a group stays below its bytes, and an item that is larger goes alone', async () => {
  const log = recorder()
  const options = { write: log.write, maxGroup: 10, sizeOf: (item: string) => item.length, maxBytes: 5 }
  const batcher = new Batcher<string, string>(options)
  const all = Promise.all(['aaa', 'bbb', 'cc', 'dddddddd'].map(item => batcher.add(item)))
  for (let i = 0; i < 5; i++) {
    await turns()
    log.release()
  }
  await all
  expect(log.writes.map(write => write.items)).toEqual([['aaa'], ['bbb', 'cc'], ['dddddddd']])
})

it('what waits for its like keeps its place before what came later, over many groups', async () => {
  const written: string[][] = []
  const options = { maxGroup: 2, keyOf: (item: string) => item[0] ?? '' }
  const batcher = new Batcher<string, string>({
    ...options,
    write: async items => {
      written.push([...items])
      return items
    },
  })
  const items = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1', 'd1']
  expect(await Promise.all(items.map(item => batcher.add(item)))).toEqual(items)
  expect(written.every(group => new Set(group.map(item => item[0])).size === group.length)).toBe(true)
  for (const letter of 'ab') {
    const inOrder = written.flat().filter(item => item.startsWith(letter))
    expect(inOrder).toEqual(inOrder.toSorted())
  }
  expect(batcher.waiting).toBe(0)
})

it('a long line is written in full, each item once, and then nothing of it is left', async () => {
  let groups = 0
  const seen = new Set<number>()
  const batcher = new Batcher<number, number>({
    maxGroup: 500,
    write: async items => {
      groups++
      for (const item of items) seen.add(item)
      return items
    },
  })
  const count = 50_000
  const answers = await Promise.all(Array.from({ length: count }, (_, index) => batcher.add(index)))
  expect(answers.every((answer, index) => answer === index)).toBe(true)
  expect([seen.size, groups, batcher.waiting]).toEqual([count, count / 500, 0])
})

it('items of one kin count as one towards the size of a group, up to a number of items', async () => {
  const log = recorder()
  const options = { write: log.write, maxGroup: 2, maxItems: 4, kinOf: (item: string) => item[0] ?? '' }
  const batcher = new Batcher<string, string>(options)
  const all = Promise.all(['a1', 'a2', 'a3', 'b1', 'c1', 'c2', 'c3', 'c4', 'c5'].map(item => batcher.add(item)))
  for (let i = 0; i < 5; i++) {
    await turns()
    log.release()
  }
  await all
  expect(log.writes.map(write => write.items)).toEqual([['a1', 'a2', 'a3', 'b1'], ['c1', 'c2', 'c3', 'c4'], ['c5']])
})

it('begins further writes beside the first while there is a crowd, up to the most that may be under way', async () => {
  const log = recorder()
  const batcher = new Batcher<string, string>({ write: log.write, maxGroup: 2, crowd: 2, mostWrites: 3 })
  const all = Promise.all(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'].map(item => batcher.add(item)))
  await turns()
  expect(log.writes.map(write => write.items.join(''))).toEqual(['ab', 'cd', 'ef'])
  log.release()
  await turns()
  expect(log.writes.map(write => write.items.join(''))).toEqual(['ab', 'cd', 'ef', 'gh'])
  log.release()
  await turns()
  // What is left is no crowd: it waits until nothing is under way.
  expect(log.writes).toHaveLength(4)
  log.release()
  log.release()
  await turns()
  log.release()
  expect(await all).toEqual(['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'I'])
})

it('a write that takes long keeps nothing waiting that is not in it', async () => {
  withClock()
  const log = recorder()
  const batcher = new Batcher<string, string>({ write: log.write, maxGroup: 10 })
  void batcher.add('stuck')
  await turns()
  const other = batcher.add('other')
  await turns()
  vi.advanceTimersByTime(299)
  await turns()
  expect(log.writes).toHaveLength(1)
  vi.advanceTimersByTime(1)
  await turns()
  expect(log.writes.map(write => write.items)).toEqual([['stuck'], ['other']])
  // What is asked for later does not even wait for the timer.
  const later = batcher.add('later')
  vi.advanceTimersByTime(300)
  await turns()
  expect(log.writes.at(-1)?.items).toEqual(['later'])
  for (let left = 0; left < 3; left++) log.release()
  expect(await Promise.all([other, later])).toEqual(['OTHER', 'LATER'])
})

it('there is no timer but while something waits for a write, and then one', async () => {
  withClock()
  const log = recorder()
  const batcher = new Batcher<string, string>({ write: log.write, maxGroup: 1, crowd: 2, mostWrites: 2 })
  const alone = batcher.add('a')
  await turns()
  expect([log.writes.length, vi.getTimerCount()]).toEqual([1, 0])
  log.release()
  await alone
  const all = Promise.all(['b', 'c', 'd', 'e', 'f'].map(item => batcher.add(item)))
  for (let left = 0; left < 5; left++) {
    await turns()
    expect(vi.getTimerCount()).toBe(1)
    log.release()
  }
  await all
  await turns()
  vi.advanceTimersByTime(1000)
  expect(vi.getTimerCount()).toBe(0)
})

it('while a write takes long, others of its kin wait for it, and those of other kinds do not', async () => {
  withClock()
  const log = recorder()
  const options = { write: log.write, maxGroup: 10, kinOf: (item: string) => item[0] ?? '' }
  const batcher = new Batcher<string, string>(options)
  void batcher.add('a1')
  await turns()
  const kin = batcher.add('a2')
  const other = batcher.add('b1')
  await turns()
  vi.advanceTimersByTime(300)
  await turns()
  expect(log.writes.map(write => write.items)).toEqual([['a1'], ['b1']])
  log.release()
  log.release()
  await turns()
  log.release()
  expect(await Promise.all([kin, other])).toEqual(['A2', 'B1'])
})

it('writes that take long become no more than four beside each other', async () => {
  withClock()
  const log = recorder()
  const batcher = new Batcher<string, string>({ write: log.write, maxGroup: 10, mostWrites: 1 })
  for (const item of 'abcdef') {
    void batcher.add(item)
    await turns()
    vi.advanceTimersByTime(300)
    await turns()
  }
  expect(log.writes.map(write => write.items)).toEqual([['a'], ['b'], ['c'], ['d']])
})

it('a part that takes long does not keep the other one waiting', async () => {
  withClock()
  const log = recorder(items => items.length > 2)
  const kinOf = (item: string) => (item < 'c' ? 'early' : 'late')
  const batcher = new Batcher<string, string>({ write: log.write, maxGroup: 10, mostWrites: 1, kinOf })
  const all = ['a', 'b', 'c', 'd'].map(item => batcher.add(item))
  await turns()
  log.release()
  await turns()
  expect(log.writes.at(-1)?.items).toEqual(['a', 'b'])
  vi.advanceTimersByTime(300)
  await turns()
  expect(log.writes.at(-1)).toEqual({ items: ['c', 'd'], again: true })
  log.release()
  log.release()
  expect(await Promise.all(all)).toEqual(['A', 'B', 'C', 'D'])
})

it('parts of a kin that never come to an end take no place from others', async () => {
  withClock()
  const written: string[] = []
  const batcher = new Batcher<string, string>({
    maxGroup: 10,
    maxItems: 10,
    mostWrites: 1,
    kinOf: item => item[0] ?? '',
    write: async items => {
      written.push(items.join(' '))
      if (items.length > 1) throw new Error('Not together.')
      if (items[0]?.startsWith('a')) await new Promise(() => {})
      return items
    },
  })
  for (let index = 1; index <= 8; index++) void batcher.add(`a${index}`)
  await turns()
  let answer: string | null = null
  void batcher.add('b1').then(result => {
    answer = result
  })
  for (let waited = 0; waited < 20; waited++) {
    vi.advanceTimersByTime(300)
    await turns()
  }
  expect(answer).toBe('b1')
})

it('a write that begins to take long while it is looked at is seen to', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  let now = 0
  // Time goes on between two looks at the clock.
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => {
    now += 0.2
    return now
  })
  try {
    const log = recorder()
    const batcher = new Batcher<string, string>({ write: log.write, maxGroup: 10 })
    void batcher.add('a')
    await turns()
    now = 299.9
    void batcher.add('b')
    await turns()
    now = 310
    vi.advanceTimersByTime(10)
    await turns()
    expect(log.writes.map(write => write.items[0])).toEqual(['a', 'b'])
  } finally {
    clock.mockRestore()
  }
})
