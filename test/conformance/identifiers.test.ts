/** Identifiers: never given twice, whoever asks, and refused before they reach a statement when they cannot exist. */
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { openerFor } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { forEachDatabase } from '../support/databases.ts'
import { makeOrder, openSameStore } from '../support/open-store.ts'

forEachDatabase('identifiers', database => {
  let store: Store
  let other: Store
  beforeAll(async () => {
    const { url } = await database.isolated()
    store = await openSameStore(url)
    other = await openSameStore(url)
  })
  afterAll(async () => {
    await store.close()
    await other.close()
  })

  it('are never given twice, by several processes at once and in any number', async () => {
    const taken = await Promise.all(
      Array.from({ length: 40 }, (_, i) => (i % 2 ? store : other).takeIds([1, 7, 99, 100, 101, 250][i % 6] ?? 1)),
    )
    const all = taken.flat()
    expect(all.length).toBeGreaterThan(3000)
    expect(new Set(all).size).toBe(all.length)
    expect(all.every(id => store.isId(id))).toBe(true)
  })

  it('are not kept for long, so that their order tells about when they were used', async () => {
    await store.takeIds(1)
    const [fromOther = ''] = await other.takeIds(200)
    const later = performance.now() + 11 * 60_000
    vi.spyOn(performance, 'now').mockReturnValue(later)
    const [after = ''] = await store.takeIds(1)
    vi.restoreAllMocks()
    expect(Number(after)).toBeGreaterThan(Number(fromOther))
  })

  it('are refused when they cannot exist', () => {
    const wrong = [
      '',
      '0',
      '-1',
      '1.5',
      'abc',
      '1; drop table x',
      '9007199254740993',
      '99999999999999999999',
      '٣',
      ' 1',
    ]
    expect(wrong.filter(id => store.isId(id))).toEqual([])
    expect(store.isId('018f3b1e-0000-7000-8000-000000000000')).toBe(false)
  })

  it('are uuids that rise with time where uuids were chosen', async () => {
    const { url } = await database.isolated()
    const uuids = await openerFor(url)({ url, keyType: 'uuid' })
    await uuids.migrate()
    const ids = await uuids.takeIds(50)
    expect(ids.every(id => uuids.isId(id) && id[14] === '7')).toBe(true)
    expect(ids.toSorted()).toEqual(ids)
    expect(uuids.isId('1')).toBe(false)
    const order = await makeOrder(uuids)
    expect(await uuids.start([order])).toMatchObject([{ kind: 'started', workflow: { id: order.id } }])
    expect((await uuids.findWorkflow(order.id))?.workflow.id).toBe(order.id)
    const now = await uuids.now()
    const { before, from } = await uuids.views.idBounds({ createdAfter: now, createdBefore: now })
    expect([from, order.id, before]).toEqual([from, order.id, before].toSorted())
    expect([from, before].every(id => uuids.isId(id ?? ''))).toBe(true)
    await uuids.close()
  })

  it('are searched for in either case, and what only looks like one finds nothing', async () => {
    const { url } = await database.isolated()
    const uuids = await openerFor(url)({ url, keyType: 'uuid' })
    await uuids.migrate()
    const order = await makeOrder(uuids)
    await uuids.start([order])
    const found = async (search: string) => {
      const { found } = await uuids.views.scan({ search }, { limit: 5, window: 5 })
      return found.map(({ workflow }) => workflow.id)
    }
    expect(await found(order.id)).toEqual([order.id])
    expect(await found(order.id.toUpperCase())).toEqual([order.id])
    for (const search of ['-'.repeat(36), 'a'.repeat(36), order.id.replace('-', 'a'), '7']) {
      expect(await found(search)).toEqual([])
    }
    await uuids.close()
    const numbered = await makeOrder(store)
    await store.start([numbered])
    const { found: byNumber } = await store.views.scan({ search: numbered.id }, { limit: 5, window: 5 })
    expect(byNumber.map(({ workflow }) => workflow.id)).toEqual([numbered.id])
    expect((await store.views.scan({ search: '99999999999999999999' }, { limit: 5, window: 5 })).found).toEqual([])
  })
})
