/** Starting: orders keep their ids, so that a start whose answer was lost can be repeated without a second first step. */
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { SqlContext } from '../../src/store/sql/context.ts'
import { startAtOnce } from '../../src/store/sql/start-at-once.ts'
import { tables } from '../../src/store/sql/tables.ts'
import type { OpenedTransaction, Store, TransactionHandle } from '../../src/store/store.ts'
import { forEachDatabase } from '../support/databases.ts'
import { openRecorded } from '../support/open-recorded.ts'
import { finishedChange, makeOrder, openTestStore } from '../support/open-store.ts'
import { gate, waitFor } from '../support/wait-for.ts'

forEachDatabase('starting', database => {
  let store: Store
  beforeAll(async () => {
    store = await openTestStore(database)
  })
  afterAll(() => store.close())

  it('the same orders again finds them started, and writes nothing', async () => {
    const orders = [await makeOrder(store), await makeOrder(store)]
    await store.start(orders)
    const again = await store.start([...orders, await makeOrder(store)], { repeated: true })
    expect(again.map(result => result.kind)).toEqual(['started', 'started', 'started'])
    for (const order of orders) {
      expect(await store.activeExecutions(order.id)).toHaveLength(1)
      expect(await store.events(order.id)).toHaveLength(2)
    }
  })

  it.each([1, 3])(
    'a packet of %d that was held up until all have been started and have ended begins nothing',
    async count => {
      const { real, store: recorded } = await openRecorded(database)
      const orders = await Promise.all(Array.from({ length: count }, () => makeOrder(recorded)))
      await recorded.start(orders)
      const targets = orders.map(({ id }) => ({ workflowId: id }))
      await recorded.change(targets, finishedChange)
      // A clock may have no more than milliseconds, and a packet that is held up comes later than that.
      const endedAt = await recorded.now()
      await waitFor(async () => (await recorded.now()) > endedAt)
      const context = new SqlContext(real, tables({}))
      context.keyType = 'bigint'
      expect(await startAtOnce(context, orders, null)).toBeNull()
      for (const { id } of orders) expect(await recorded.activeExecutions(id)).toEqual([])
      await recorded.close()
    },
  )

  it('with keys is written in the order of the keys, so that nobody waits for another in a circle', async () => {
    const { recording, store: recorded } = await openRecorded(database)
    const keys = ['k3', 'k1', 'k2']
    const orders = await Promise.all(keys.map(idempotencyKey => makeOrder(recorded, { idempotencyKey })))
    const heroes = await Promise.all(
      ['h2', 'h1'].map(idText => makeOrder(recorded, { hero: { type: 'Hero', idText, idKind: 'string' } })),
    )
    recording.take()
    const results = await recorded.start([...orders, ...heroes])
    expect(results.map(({ workflow }) => workflow.id)).toEqual([...orders, ...heroes].map(({ id }) => id))
    const insert = recording.take().find(({ parts }) => /insert.* into `?geneva_drive_workflows/.test(parts.join('?')))
    const written = JSON.stringify(insert?.values)
    const places = ['k1', 'k2', 'k3'].map(key => written.indexOf(key))
    expect(places).toEqual(places.toSorted((a, b) => a - b))
    expect(places[0]).toBeGreaterThan(0)
    expect(written.indexOf('h1')).toBeLessThan(written.indexOf('h2'))
    await recorded.close()
  })

  it('the same orders again after the workflow has ended gives it no new first step', async () => {
    const order = await makeOrder(store)
    await store.start([order])
    await store.change([{ workflowId: order.id }], finishedChange)
    expect(await store.start([order], { repeated: true })).toMatchObject([
      { kind: 'started', workflow: { state: 'finished' } },
    ])
    expect(await store.activeExecutions(order.id)).toEqual([])
  })

  it.each([
    ['is committed', 'with a first step', {}],
    ['is committed', 'with tags', { tags: ['late'] }],
    ['is committed', 'without anything to do', { first: null }],
    ['comes to nothing', 'with a first step', {}],
  ] as const)('an order whose earlier try %s only now, %s, is started once', async (end, _with, options) => {
    const order = await makeOrder(store, options)
    const begun = gate()
    const ending = gate()
    const starting = async ({ handle }: OpenedTransaction) => {
      await store.start([order], { transaction: handle as TransactionHandle })
      begun.open()
      await ending.passed
      if (end === 'comes to nothing') throw new Error('The server has given it up.')
    }
    const earlier = store.transact(null, starting, (_, error) => Promise.reject(error)).catch(() => {})
    await begun.passed
    const again = store.start([order, await makeOrder(store)], { repeated: true })
    await pause(200)
    ending.open()
    await earlier
    expect((await again).map(result => result.kind)).toEqual(['started', 'started'])
    expect(await store.tags(order.id)).toEqual(order.tags)
    expect(await store.activeExecutions(order.id)).toHaveLength(order.first.length)
    expect(await store.events(order.id)).toHaveLength(1 + order.first.length)
  })

  it('many large inputs at once stays within what a server accepts in one packet', async () => {
    const input = JSON.stringify({ text: 'x'.repeat(900_000) })
    const orders = []
    for (let i = 0; i < 20; i++) orders.push(await makeOrder(store, { input }))
    const results = await store.start(orders)
    expect(results.filter(result => result.kind === 'started')).toHaveLength(20)
    expect(await store.input(orders[19]?.id ?? '')).toHaveLength(input.length)
  })
})
