/** Ids for decisions: the same over all tries, and more of them where one did not have enough. */
import { describe, expect, it } from 'vitest'
import { IdPool, IdReserve, withEnoughIds } from '../../../src/engine/id-pool.ts'
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

/** A reserve that holds so many ids. */
async function reserveOf(count: number) {
  const { asked, store } = idsFromOne()
  const reserve = new IdReserve(store)
  if (count > 0) await reserve.ensure(count / 2)
  asked.length = 0
  return { asked, reserve }
}

describe('a pool', () => {
  it('gives out ids of the reserve once, and the same again when it is rewound', async () => {
    const { reserve } = await reserveOf(2)
    const pool = new IdPool(reserve)
    expect([pool.take(), pool.take()]).toEqual(['1', '2'])
    expect(() => pool.take()).toThrow('more ids')
    pool.rewind()
    expect(pool.take()).toBe('1')
  })

  it('shares the reserve with others, and no id with any', async () => {
    const { reserve } = await reserveOf(4)
    const [one, two] = [new IdPool(reserve), new IdPool(reserve)]
    expect([one.take(), two.take(), one.take(), two.take()]).toEqual(['1', '2', '3', '4'])
  })
})

describe('a decision', () => {
  /** Needs so many ids of the pool. */
  const needing = (pool: IdPool, count: number) => async () => {
    pool.rewind()
    return Array.from({ length: count }, () => pool.take())
  }

  it('that has enough ids asks for none', async () => {
    const { asked, reserve } = await reserveOf(2)
    expect(await withEnoughIds(reserve, needing(new IdPool(reserve), 1))).toEqual(['1'])
    expect(asked).toEqual([])
  })

  it('that runs out is made again with more, the first ones the same', async () => {
    const { asked, reserve } = await reserveOf(2)
    expect(await withEnoughIds(reserve, needing(new IdPool(reserve), 3))).toEqual(['1', '2', '3'])
    expect(asked).toEqual([80])
  })

  it('that needs very many gets them in few rounds of bounded size', async () => {
    const { asked, reserve } = await reserveOf(0)
    const ids = await withEnoughIds(reserve, needing(new IdPool(reserve), 100_000))
    expect(new Set(ids).size).toBe(100_000)
    expect(asked.length).toBeLessThan(20)
    expect(Math.max(...asked)).toBeLessThanOrEqual(20_000)
  })

  it('that asks for more and more without end is a bug', async () => {
    const { reserve } = await reserveOf(0)
    const pool = new IdPool(reserve)
    const endless = async () => {
      for (;;) pool.take()
    }
    await expect(withEnoughIds(reserve, endless)).rejects.toMatchObject({ code: 'INVARIANT' })
  })

  it('that fails for another reason is not made again', async () => {
    const { asked, reserve } = await reserveOf(0)
    let tries = 0
    const failing = withEnoughIds(reserve, async () => {
      tries++
      throw new Error('no')
    })
    await expect(failing).rejects.toThrow('no')
    expect([tries, asked.length]).toEqual([1, 0])
  })
})
