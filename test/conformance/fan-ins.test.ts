/** Counters of fan-ins: written with the change that makes them, read by those who need them, gone with the workflow. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { decideFinish } from '../../src/engine/decide-finish.ts'
import { endNode } from '../../src/engine/plan.ts'
import type { WorkflowChange } from '../../src/store/change.ts'
import type { Store } from '../../src/store/store.ts'
import { forEachDatabase } from '../support/databases.ts'
import { changeOf, closerLookOf, factsOf, finishedChange, openSameStore, startSome } from '../support/open-store.ts'
import { completed, decided, graphOf, planFor } from '../unit/engine/facts.ts'

const nothing: WorkflowChange['fanIns'] = { inserted: [], updated: [], removed: [], cleared: false }

forEachDatabase('fan-ins', database => {
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

  const write = (workflowId: string, fanIns: Partial<WorkflowChange['fanIns']>) =>
    store.change([{ workflowId }], () => changeOf(workflowId, { fanIns: { ...nothing, ...fanIns } }))

  /** All counters of a workflow, as whoever heals it sees them. */
  const counters = async (workflowId: string) =>
    Object.fromEntries((await factsOf(other, { workflowId, withLatest: true })).fanIns)

  it('are inserted, updated and removed, each for itself', async () => {
    const [workflowId = ''] = await startSome(store, 1)
    await write(workflowId, { inserted: ['a', 'b', 'c'].map((node, index) => ({ node, open: index + 2 })) })
    expect(await counters(workflowId)).toEqual({ a: 2, b: 3, c: 4 })
    await write(workflowId, {
      inserted: [{ node: endNode, open: 5 }],
      updated: [{ node: 'b', open: 1, by: 2 }],
      removed: [{ node: 'a' }],
    })
    expect(await counters(workflowId)).toEqual({ '': 5, b: 1, c: 4 })
  })

  it('that were asked for are shown, and no others', async () => {
    const [workflowId = ''] = await startSome(store, 1)
    await write(workflowId, { inserted: ['a', 'A', ''].map(node => ({ node, open: 2 })) })
    const shown = async (...fanIns: string[]) =>
      [...(await factsOf(store, { workflowId, slots: ['x'], fanIns })).fanIns.keys()].toSorted()
    expect(await shown('a', 'x')).toEqual(['a'])
    expect(await shown('')).toEqual([''])
    expect(await shown('A', 'a')).toEqual(['A', 'a'])
    expect(await shown()).toEqual([])
  })

  it('belong to their workflow', async () => {
    const [one = '', two = ''] = await startSome(store, 2)
    await write(one, { inserted: [{ node: 'a', open: 2 }] })
    await write(two, { inserted: [{ node: 'a', open: 7 }] })
    await write(one, { removed: [{ node: 'a' }] })
    expect([await counters(one), await counters(two)]).toEqual([{}, { a: 7 }])
    const seen: (number | undefined)[] = []
    await store.change(
      [
        { workflowId: one, fanIns: ['a'] },
        { workflowId: two, slots: [''], fanIns: ['a'] },
      ],
      facts => {
        seen.push(facts.fanIns.get('a'))
        return null
      },
    )
    expect(seen.filter(open => open !== undefined)).toEqual([7])
  })

  it('are cleared when their workflow has ended, and those of others are not', async () => {
    const [one = '', two = ''] = await startSome(store, 2)
    for (const id of [one, two]) await write(id, { inserted: ['a', 'b'].map(node => ({ node, open: 2 })) })
    await store.change([{ workflowId: one }], facts => ({
      ...finishedChange(facts),
      fanIns: { ...nothing, cleared: true },
    }))
    expect([await counters(one), await counters(two)]).toEqual([{}, { a: 2, b: 2 }])
  })

  it('are written with the rest of the change or not at all', async () => {
    const [workflowId = ''] = await startSome(store, 1)
    const broken = store.change([{ workflowId }], ({ active }) => {
      const [row] = active
      if (!row) throw new Error('no row')
      const taken = { ...row, due: { inMs: 0 } }
      return changeOf(workflowId, {
        insertions: [taken],
        fanIns: { ...nothing, inserted: [{ node: 'a', open: 1 }] },
      })
    })
    await expect(broken).rejects.toThrow(/unique|duplicate/i)
    expect(await counters(workflowId)).toEqual({})
  })

  it('of a thousand nodes are written and cleared at once', async () => {
    const [workflowId = ''] = await startSome(store, 1)
    const inserted = Array.from({ length: 6000 }, (_, index) => ({ node: `n${index}`, open: 2 }))
    await write(workflowId, { inserted })
    expect(Object.keys(await counters(workflowId))).toHaveLength(6000)
    await write(workflowId, { updated: inserted.map(({ node }) => ({ node, open: 1, by: 1 })) })
    expect(new Set(Object.values(await counters(workflowId)))).toEqual(new Set([1]))
    await write(workflowId, { removed: inserted.map(({ node }) => ({ node })) })
    expect(await counters(workflowId)).toEqual({})
  })

  it('reach zero once, whichever of two processes the last parents end in', async () => {
    const width = 12
    const parents = Array.from({ length: width }, (_, index) => `p${index}`)
    const graph = graphOf({ ...Object.fromEntries(parents.map(name => [name, ''])), join: parents.join(' ') })
    for (let round = 0; round < 5; round++) {
      const [workflowId = ''] = await startSome(store, 1, {
        first: parents.map(node => ({ slot: node, node, state: 'in_progress', owner: null })),
      })
      const ids = await store.takeIds(width)
      const started = await Promise.all(
        parents.map((node, index) =>
          (index % 2 ? store : other).change(
            [{ workflowId, slots: [node, '#stop'], fanIns: ['join'] }],
            facts =>
              decided(facts, draft => {
                const [row] = facts.active
                const plan = planFor(graph, { takeId: () => ids[index] ?? '' })
                if (row) decideFinish(draft, row, completed, { plan, runOn: null })
              }),
            { look: ({ fanIns }) => (fanIns.get('join') === 1 ? closerLookOf({ parents }) : null) },
          ),
        ),
      )
      const joins = started.flat().flatMap(change => change.insertions)
      expect(joins).toHaveLength(1)
      expect(joins[0]?.ancestry.parents).toHaveLength(width)
      expect(await store.activeExecutions(workflowId)).toMatchObject([{ node: 'join', state: 'scheduled' }])
      expect(await counters(workflowId)).toEqual({})
    }
  })
})
