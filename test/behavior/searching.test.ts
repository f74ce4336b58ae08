/** Searches for the beginning of an id of a hero look at so much and no more, and whoever asks is told so. */
import { beforeAll, expect, it } from 'vitest'
import { Geneva } from '../../src/index.ts'
import type { Store } from '../../src/store/store.ts'
import { ApiClient } from '../http/http-world.ts'
import { forEachDatabase } from '../support/databases.ts'
import { makeOrder, openSameStore } from '../support/open-store.ts'

/** One more of one type of hero than is looked at. */
const many = 1001

forEachDatabase('a search that stands for more than is looked at', database => {
  let geneva: Geneva
  let store: Store
  let api: ApiClient

  beforeAll(async () => {
    const { url } = await database.isolated()
    store = await openSameStore(url)
    geneva = new Geneva({ database: url, workflows: [] })
    api = new ApiClient(geneva)
    const about = async (type: string, ids: readonly string[]) => {
      const heroes = ids.map(idText => ({ type, idText, idKind: 'string' }) as const)
      await store.start(await Promise.all(heroes.map(hero => makeOrder(store, { hero, type }))))
    }
    const numbers = Array.from({ length: many }, (_, index) => String(index).padStart(4, '0'))
    await about(
      'Customer',
      numbers.map(number => `cus_${number}`),
    )
    await about('Card', ['card_1', 'card_2', 'card_3'])
    return async () => {
      await geneva.close()
      await store.close()
    }
  })

  it('is told by the look itself, for each type of hero', async () => {
    const look = async (search: string, window: number) =>
      (await store.views.scan({ search }, { limit: 10, window })).capped
    expect(await look('card_', 2)).toBe(true)
    expect(await look('card_', 3)).toBe(false)
    expect(await look('card_2', 1)).toBe(false)
    expect(await look('nobody', 1)).toBe(false)
    expect(await store.views.count({ search: 'card_' }, { limit: 10, window: 2 })).toEqual({
      count: 2,
      next: null,
      capped: true,
    })
  })

  it('makes lists and counts say that there may be more, whatever else narrows them', async () => {
    expect(await geneva.views.count({ q: 'cus_' })).toEqual({ count: many - 1, capped: true })
    expect(await geneva.views.count({ q: 'cus_', type: 'Card' })).toEqual({ count: 0, capped: true })
    expect(await geneva.views.count({ q: 'cus_0' })).toEqual({ count: many - 1, capped: false })
    expect(await geneva.views.count({ q: 'c', type: 'Card' })).toEqual({ count: 3, capped: true })
    const first = await geneva.views.workflows({ q: 'cus_', limit: 10 })
    expect(first).toMatchObject({ nextCursor: expect.any(String), capped: true })
    const cursor = first.nextCursor ?? ''
    expect(await geneva.views.workflows({ q: 'cus_', limit: 10, cursor })).toMatchObject({ capped: true })
    expect(await geneva.views.workflows({ q: 'cus_0', limit: 10 })).toMatchObject({ capped: false })
    expect(await geneva.views.workflows({ limit: 10 })).toMatchObject({ capped: false })
    expect((await api.get('/workflows?q=cus_&type=Card')).body).toEqual({ items: [], nextCursor: null, capped: true })
    expect((await api.get('/workflows/count?q=cus_')).body).toEqual({ count: many - 1, capped: true })
  })

  it('is refused by requests to many, and nothing is changed', async () => {
    const all = geneva.all({ where: { q: 'cus_' } })
    const refusal = { code: 'INVALID_ARGUMENT', message: expect.stringContaining('Search for more of the id') }
    await expect(all.count()).rejects.toMatchObject(refusal)
    await expect(all.cancel()).rejects.toMatchObject(refusal)
    await expect(all.abort({ limit: 5 })).rejects.toMatchObject(refusal)
    const over = await api.post('/workflows/bulk', { action: 'cancel', filter: { q: 'cus_' } })
    expect(over).toMatchObject({
      status: 422,
      body: { error: { code: 'TOO_MANY', remedy: 'Search for more of the id.' } },
    })
    expect((await geneva.views.workflows({ state: ['canceled', 'aborted'] })).items).toEqual([])
    expect(await geneva.all({ where: { q: 'cus_00' } }).count()).toBe(100)
  })

  it('is told, too, where there are more types of heroes than are looked at', async () => {
    expect(await geneva.views.count({ q: 'card_2' })).toEqual({ count: 1, capped: false })
    const types = Array.from({ length: 99 }, (_, index) => `Kind${index}`)
    const about = (type: string) => makeOrder(store, { hero: { type, idText: 'x', idKind: 'string' }, type })
    await store.start(await Promise.all(types.map(about)))
    expect(await geneva.views.count({ q: 'card_2' })).toEqual({ count: 1, capped: true })
    expect(await geneva.views.count({ hero: { type: 'Card', id: 'card_2' } })).toEqual({ count: 1, capped: false })
  })
})
