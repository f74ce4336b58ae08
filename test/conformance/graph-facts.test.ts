/** What a decision is shown of a graph: the rows it asks for, whether others go on, parents, and what waits for a place. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { itemSlot } from '../../src/engine/plan.ts'
import type { NewExecution, WorkflowFacts } from '../../src/store/change.ts'
import type { ActiveState } from '../../src/store/records.ts'
import type { Store } from '../../src/store/store.ts'
import { forEachDatabase } from '../support/databases.ts'
import { changeOf, closerLookOf, ended, factsOf, openTestStore, startSome } from '../support/open-store.ts'

forEachDatabase('facts of a graph', database => {
  let store: Store

  beforeAll(async () => {
    store = await openTestStore(database)
  })
  afterAll(() => store.close())

  /** A workflow with one row for each name, in the state that is given. */
  async function workflowWith(rows: Readonly<Record<string, ActiveState>>): Promise<string> {
    const [id = ''] = await startSome(store, 1, {
      first: Object.entries(rows).map(([slot, state]) => ({ slot, node: slot, state })),
    })
    return id
  }

  /** Ends the row of a slot, and begins the next attempt at its node if it is to be repeated. */
  async function end(workflowId: string, slot: string, more: Parameters<typeof ended>[1] = {}, repeats = false) {
    const [nextId = ''] = await store.takeIds(1)
    await store.change([{ workflowId }], ({ active }) => {
      const row = active.find(found => found.slot === slot)
      if (!row) throw new Error(`no row in ${slot}`)
      const next: NewExecution = { ...row, id: nextId, attempt: row.attempt + 1, due: { inMs: 0 } }
      return changeOf(workflowId, {
        endings: [ended(row, more)],
        ...(repeats ? { replacements: [next] } : { removals: [{ slot }] }),
      })
    })
  }

  const nodesIn = ({ active }: WorkflowFacts) => active.map(row => row.node)

  it('hold all rows where nothing else is said', async () => {
    const workflowId = await workflowWith({ a: 'scheduled', b: 'waiting' })
    const facts = await factsOf(store, { workflowId })
    expect(nodesIn(facts).toSorted()).toEqual(['a', 'b'])
    expect(facts).toMatchObject({ complete: true, othersGoOn: false, latest: null })
    expect([facts.parents.size, facts.fanIns.size]).toEqual([0, 0])
  })

  it('hold the rows of the slots that were asked for, and no others', async () => {
    const workflowId = await workflowWith({ a: 'scheduled', b: 'scheduled', c: 'scheduled' })
    const facts = await factsOf(store, { workflowId, slots: ['b', 'x', '#stop'] })
    expect(nodesIn(facts)).toEqual(['b'])
    expect(facts.complete).toBe(false)
    expect(facts.active[0]).toEqual((await store.activeExecutions(workflowId)).find(row => row.node === 'b'))
  })

  it('hold rows that the caller knows as they stand, and read whole what has come in their place', async () => {
    const workflowId = await workflowWith({ a: 'in_progress', b: 'in_progress', c: 'in_progress', d: 'in_progress' })
    const held = await store.activeExecutions(workflowId)
    await end(workflowId, 'b', {}, true)
    await end(workflowId, 'c')
    await store.change([{ workflowId }], () => changeOf(workflowId, { stops: [{ slot: 'd' }] }))
    const facts = await factsOf(store, { workflowId, slots: ['a', 'b', 'c', 'd', '#stop'], held })
    const stored = await store.activeExecutions(workflowId)
    const bySlot = (rows: WorkflowFacts['active']) => rows.toSorted((one, two) => (one.slot < two.slot ? -1 : 1))
    expect(stored.map(row => row.slot).toSorted()).toEqual(['a', 'b', 'd'])
    expect(bySlot(facts.active)).toEqual(bySlot(stored))
    expect(facts.active.find(row => row.slot === 'd')?.heldFrom).toBe('stopping')
  })

  it('tell slots apart byte by byte, also in what is written of one of them', async () => {
    const names = ['a', 'A', 'a ', 'ä', 'a\u0308', 'a/00000001', 'ａ']
    const workflowId = await workflowWith(Object.fromEntries(names.map(name => [name, 'in_progress'])))
    for (const name of names) expect(nodesIn(await factsOf(store, { workflowId, slots: [name] }))).toEqual([name])
    for (const [place, slot] of names.entries()) {
      await store.change([{ workflowId }], () => changeOf(workflowId, { stops: [{ slot }] }))
      const rows = await store.activeExecutions(workflowId)
      expect(rows.filter(row => row.heldFrom === 'stopping').map(row => row.slot)).toEqual([slot])
      await store.change([{ workflowId }], () => changeOf(workflowId, { removals: [{ slot }] }))
      const left = (await store.activeExecutions(workflowId)).map(row => row.slot)
      expect(new Set(left)).toEqual(new Set(names.slice(place + 1)))
    }
  })

  it.each([
    ['scheduled', true],
    ['in_progress', true],
    ['suspended', true],
    ['waiting', false],
    ['paused', false],
  ] as const)('say whether others go on: one that is %s, %s', async (state, goesOn) => {
    const workflowId = await workflowWith({ a: 'scheduled', b: state })
    expect((await factsOf(store, { workflowId, slots: ['a'] }, { others: true })).othersGoOn).toBe(goesOn)
    expect((await factsOf(store, { workflowId, slots: ['a', 'b'] }, { others: true })).othersGoOn).toBe(false)
  })

  it('do not count a timer as something that goes on', async () => {
    const [workflowId = ''] = await startSome(store, 1, {
      first: [
        { slot: 'a', node: 'a' },
        { slot: '#stop', node: '', kind: 'timer' },
      ],
    })
    expect((await factsOf(store, { workflowId, slots: ['a'] }, { others: true })).othersGoOn).toBe(false)
  })

  it('are each of their own workflow where several are looked at, with and without slots', async () => {
    const one = await workflowWith({ a: 'scheduled', b: 'scheduled' })
    const two = await workflowWith({ a: 'scheduled', c: 'paused' })
    const three = await workflowWith({ a: 'scheduled', d: 'scheduled' })
    const seen = new Map<string, WorkflowFacts>()
    const targets = [{ workflowId: one, slots: ['a'] }, { workflowId: two, slots: ['a', 'b'] }, { workflowId: three }]
    const decide = (facts: WorkflowFacts) => {
      seen.set(facts.workflow.id, facts)
      return null
    }
    await store.change(targets, decide, { look: facts => (facts.complete ? null : closerLookOf({ others: true })) })
    const shown = [one, two, three].map(id => {
      const facts = seen.get(id)
      return facts && [nodesIn(facts).toSorted().join(' '), facts.complete, facts.othersGoOn]
    })
    expect(shown).toEqual([
      ['a', false, true],
      ['a', false, false],
      ['a d', true, false],
    ])
  })

  it('come for as many workflows at once as a group has', async () => {
    const ids = await startSome(store, 500, { first: [{ slot: 'a' }, { slot: 'b' }] })
    let going = 0
    await store.change(
      ids.map(workflowId => ({ workflowId, slots: ['a', '#stop'], fanIns: ['d'] })),
      facts => {
        if (facts.othersGoOn && facts.active.length === 1) going++
        return null
      },
      { look: () => closerLookOf({ parents: ['x'], waiting: [{ prefix: 'all/', count: 1 }], others: true }) },
    )
    expect(going).toBe(500)
  })

  it('show the latest attempt of every node where that was asked for', async () => {
    const workflowId = await workflowWith({ a: 'in_progress', b: 'in_progress' })
    await end(workflowId, 'a', { state: 'failed', outcome: 'reattempted_by_exception' }, true)
    await end(workflowId, 'a', { output: '1' })
    await end(workflowId, 'b', { state: 'failed', outcome: 'paused_by_exception' })
    const { latest } = await factsOf(store, { workflowId, withLatest: true })
    expect([...(latest?.values() ?? [])].map(({ node, attempt, state }) => [node, attempt, state]).toSorted()).toEqual([
      ['a', 2, 'completed'],
      ['b', 1, 'failed'],
    ])
  })

  it('keep what an execution works on and what it came after, from its start to its end', async () => {
    const ancestry = { hash: 'f'.repeat(64), parents: ['11', '12'] }
    const [workflowId = ''] = await startSome(store, 1, {
      first: { slot: 'a', node: 'a', input: '{"item":"ä"}', ancestry, state: 'in_progress' },
    })
    expect((await factsOf(store, { workflowId, slots: ['a'] })).active).toMatchObject([
      { input: '{"item":"ä"}', ancestry },
    ])
    await end(workflowId, 'a')
    const { latest } = await factsOf(store, { workflowId, withLatest: true })
    expect(latest?.get('a')).toMatchObject({ input: '{"item":"ä"}', ancestry })
    expect((await store.history(workflowId))[0]?.ancestry).toEqual(ancestry)
  })

  it('bring the latest attempts of parents with a closer look, and only those', async () => {
    const workflowId = await workflowWith({ a: 'in_progress', b: 'in_progress', c: 'in_progress' })
    await end(workflowId, 'a', { state: 'failed', outcome: 'recovered' }, true)
    await end(workflowId, 'a')
    await end(workflowId, 'b')
    const { parents } = await factsOf(store, { workflowId, slots: ['c'] }, { parents: ['a', 'c', 'x'] })
    expect([...parents.values()]).toMatchObject([
      { node: 'a', attempt: 2, state: 'completed', ancestry: { hash: 'hash' } },
    ])
  })

  it('bring rows that wait for a place, in the order of their slots, as many as were asked for', async () => {
    const order = [11, 2, 0, 1, 10]
    const [workflowId = ''] = await startSome(store, 1, {
      first: [
        ...order.map(index => ({
          slot: itemSlot('all', index),
          node: `all/${index}`,
          state: index === 0 ? ('scheduled' as const) : ('waiting' as const),
        })),
        { slot: 'all', node: 'all', state: 'waiting' },
        { slot: itemSlot('all2', 0), node: 'all2/0', state: 'waiting' },
        { slot: 'alm', node: 'alm', state: 'waiting' },
      ],
    })
    const waiting = async (count: number) => {
      const look = { waiting: [{ prefix: 'all/', count }] }
      return nodesIn(await factsOf(store, { workflowId, slots: [itemSlot('all', 0)] }, look))
    }
    expect(await waiting(2)).toEqual(['all/0', 'all/1', 'all/2'])
    expect(await waiting(9)).toEqual(['all/0', 'all/1', 'all/2', 'all/10', 'all/11'])
  })

  it('are looked at once more only for workflows that need it, each by itself', async () => {
    const one = await workflowWith({ 'p/00000000': 'waiting', 'q/00000000': 'waiting' })
    const two = await workflowWith({ 'p/00000000': 'waiting' })
    const seen = new Map<string, string[]>()
    await store.change(
      [one, two].map(workflowId => ({ workflowId, slots: ['x'] })),
      facts => {
        seen.set(facts.workflow.id, nodesIn(facts))
        return null
      },
      {
        look: ({ workflow }) =>
          workflow.id === one
            ? closerLookOf({
                waiting: [
                  { prefix: 'q/', count: 1 },
                  { prefix: 'p/', count: 1 },
                ],
              })
            : null,
      },
    )
    expect(seen.get(one)?.toSorted()).toEqual(['p/00000000', 'q/00000000'])
    expect(seen.get(two)).toEqual([])
  })

  it('know which of the executions that were asked about have ended, where an answer was lost', async () => {
    const workflowId = await workflowWith({ a: 'in_progress', b: 'in_progress' })
    const rows = await store.activeExecutions(workflowId)
    await end(workflowId, 'a')
    const settle = rows.map(row => row.id)
    const { ended } = await factsOf(store, { workflowId, slots: ['b'], settle, repeated: true })
    const [row] = rows.filter(({ node }) => node === 'a')
    expect([...ended]).toEqual([[row?.id, { owner: row?.owner, state: 'completed', outcome: 'success' }]])
    expect((await factsOf(store, { workflowId, slots: ['b'], settle })).ended.size).toBe(0)
  })
})
