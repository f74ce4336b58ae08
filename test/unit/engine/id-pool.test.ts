/** Ids for decisions: the same over all tries, and more of them where one did not have enough. */
import { describe, expect, it } from 'vitest'
import { IdPool, withEnoughIds } from '../../../src/engine/id-pool.ts'
import type { Store } from '../../../src/store/store.ts'

/** Hands out ids from 1, and remembers how many were asked for. */
function idsFromOne() {
  const asked: number[] = []
  let last = 0
  const takeIds = async (count: number) => {
    asked.push(count)
    return Array.from({ length: count }, () => String(++last))
  }
  return { asked, store: { takeIds } as unknown as Store }
}

describe('a pool', () => {
  it('gives out its ids once, and the same again when it is rewound', () => {
    const pool = new IdPool(['1', '2'])
    expect([pool.take(), pool.take()]).toEqual(['1', '2'])
    expect(() => pool.take()).toThrow('more ids')
    pool.rewind()
    expect(pool.take()).toBe('1')
  })

  it('keeps the list that it was made from as it is', () => {
    const ids = ['1']
    new IdPool(ids).ids.push('2')
    expect(ids).toEqual(['1'])
  })
})

describe('a decision', () => {
  /** Needs so many ids of the pool. */
  const needing = (pool: IdPool, count: number) => async () => {
    pool.rewind()
    return Array.from({ length: count }, () => pool.take())
  }

  it('that has enough ids asks for none', async () => {
    const { asked, store } = idsFromOne()
    expect(await withEnoughIds(store, needing(new IdPool(['7']), 1))).toEqual(['7'])
    expect(asked).toEqual([])
  })

  it('that runs out is made again with more, the first ones the same', async () => {
    const { asked, store } = idsFromOne()
    const pool = new IdPool(['7'])
    const ids = await withEnoughIds(store, needing(pool, 3))
    expect(ids).toEqual(['7', '1', '2'])
    expect(asked).toEqual([40])
  })

  it('that needs very many gets them in few rounds of bounded size', async () => {
    const { asked, store } = idsFromOne()
    const ids = await withEnoughIds(store, needing(new IdPool(), 100_000))
    expect(new Set(ids).size).toBe(100_000)
    expect(asked.length).toBeLessThan(20)
    expect(Math.max(...asked)).toBe(10_000)
  })

  it('that asks for more and more without end is a bug', async () => {
    const { store } = idsFromOne()
    const pool = new IdPool()
    const endless = async () => {
      for (;;) pool.take()
    }
    await expect(withEnoughIds(store, endless)).rejects.toMatchObject({ code: 'INVARIANT' })
  })

  it('that fails for another reason is not made again', async () => {
    const { asked, store } = idsFromOne()
    let tries = 0
    const failing = withEnoughIds(store, async () => {
      tries++
      throw new Error('no')
    })
    await expect(failing).rejects.toThrow('no')
    expect([tries, asked.length]).toEqual([1, 0])
  })
})
