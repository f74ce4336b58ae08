/** Graphs that are stored: those of classes, numbered and kept up to date, and those of workflows of their own. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import { forEachDatabase } from '../support/databases.ts'
import { makeOrder, openSameStore } from '../support/open-store.ts'

const graph = (waitMs: number) => JSON.stringify({ type: 'Order', nodes: [{ id: 'ä', waitMs, dependsOn: [] }] })

forEachDatabase('definitions', database => {
  let store: Store
  let other: Store
  let count = 0
  const type = () => `Order ${++count}`

  beforeAll(async () => {
    const { url } = await database.isolated()
    store = await openSameStore(url)
    other = await openSameStore(url)
  })
  afterAll(async () => {
    await store.close()
    await other.close()
  })

  it('are numbered for each type, and the same graph always has the same number', async () => {
    const [one, two] = [type(), type()]
    const register = async (name: string, signature: string) =>
      (await store.registerDefinitions([{ type: name, signature, graph: graph(0) }])).get(name)
    expect(await register(one, 's1')).toBe(1)
    expect(await register(one, 's2')).toBe(2)
    expect(await register(two, 's2')).toBe(1)
    expect(await register(one, 's1')).toBe(1)
    expect((await store.allGraphs([one, two])).map(({ generation }) => generation).toSorted()).toEqual([1, 1, 2])
    expect(await store.findDefinition(one)).toMatchObject({ generation: 2 })
    expect(await store.findDefinition('unknown')).toBeNull()
    expect(await store.allGraphs([])).toEqual([])
  })

  it('show what has changed beside the shape, under the same number', async () => {
    const name = type()
    await store.registerDefinitions([{ type: name, signature: 's1', graph: graph(0) }])
    await store.registerDefinitions([{ type: name, signature: 's2', graph: graph(1) }])
    const before = await other.allGraphs([name])
    expect(before.map(({ graph: text }) => text)).toEqual([graph(1), graph(0)])
    expect(await other.registerDefinitions([{ type: name, signature: 's1', graph: graph(5000) }])).toEqual(
      new Map([[name, 1]]),
    )
    const after = await store.allGraphs([name])
    expect(after.map(({ graph: text, generation }) => [generation, text])).toEqual([
      [2, graph(1)],
      [1, graph(5000)],
    ])
  })

  it('of many processes that start at once get one number each', async () => {
    const name = type()
    const numbers = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        (index % 2 ? store : other).registerDefinitions([
          { type: name, signature: `s${index % 4}`, graph: graph(index % 4) },
        ]),
      ),
    )
    const found = numbers.map(map => map.get(name))
    for (let index = 4; index < 12; index++) expect(found[index]).toBe(found[index % 4])
    expect(new Set(found)).toEqual(new Set([1, 2, 3, 4]))
  })

  it('of workflows that have a graph of their own come back as they were', async () => {
    const text = graph(7)
    const own = await makeOrder(store, { graph: { signature: 'f'.repeat(64), graph: text }, generation: 0 })
    const plain = await makeOrder(store)
    await store.start([own, plain])
    const found = await other.frozenGraphs([own.id, plain.id])
    expect([...found]).toEqual([[own.id, { signature: 'f'.repeat(64), graph: text }]])
    expect(await other.frozenGraphs([])).toEqual(new Map())
    expect((await other.findWorkflow(own.id))?.workflow).toMatchObject({ frozen: 'f'.repeat(64), generation: 0 })
    expect((await other.findWorkflow(plain.id))?.workflow).toMatchObject({ frozen: null, generation: 1 })
  })

  it('of a workflow that was not started, because another stands in its place, are not stored', async () => {
    const hero = { type: 'User', idText: 'ann', idKind: 'string' } as const
    const stored = { signature: 's', graph: graph(0) }
    const first = await makeOrder(store, { type: 'Once', hero, graph: stored })
    const second = await makeOrder(store, { type: 'Once', hero, graph: stored })
    await store.start([first])
    expect(await store.start([second])).toMatchObject([{ kind: 'active', workflow: { id: first.id } }])
    expect([...(await store.frozenGraphs([first.id, second.id])).keys()]).toEqual([first.id])
  })

  it('as large as a graph of ten thousand nodes are kept whole', async () => {
    const nodes = Array.from({ length: 10_000 }, (_, index) => ({ id: `n${index}`, dependsOn: [`n${index - 1}`] }))
    const text = JSON.stringify({ nodes })
    const order = await makeOrder(store, { graph: { signature: 's', graph: text } })
    await store.start([order])
    expect((await other.frozenGraphs([order.id])).get(order.id)?.graph).toBe(text)
  })

  it('of a workflow with many entry points begin all of them', async () => {
    const first = Array.from({ length: 6000 }, (_, index) => ({ slot: `n${index}`, node: `n${index}` }))
    const order = await makeOrder(store, { first })
    await store.start([order])
    expect(await other.activeExecutions(order.id)).toHaveLength(6000)
  })
})
