/** Changing: decisions see the newest facts, hold the workflow while they decide, and are applied whole or not at all. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { decideCancel, decidePause, decideResume } from '../../src/engine/decide-request.ts'
import type { WorkflowChange, WorkflowFacts } from '../../src/store/change.ts'
import type { Store } from '../../src/store/store.ts'
import { forEachDatabase } from '../support/databases.ts'
import {
  changeOf,
  ended,
  makeOrder,
  openSameStore,
  registerWorker,
  sampleSource,
  startSome,
} from '../support/open-store.ts'
import { chain, decided, planFor } from '../unit/engine/facts.ts'

const request = { by: 'ann', reason: 'because' }

forEachDatabase('changing', database => {
  let store: Store
  let other: Store

  beforeAll(async () => {
    const { url } = await database.isolated()
    store = await openSameStore(url)
    other = await openSameStore(url)
    await registerWorker(store, 'worker')
  })
  afterAll(async () => {
    await store.close()
    await other.close()
  })

  const pausing = (facts: WorkflowFacts) => decided(facts, draft => decidePause(draft, request))
  const plan = async () => {
    const ids = await store.takeIds(2)
    return planFor(chain('one'), { takeId: () => ids.pop() ?? '' })
  }

  const target = (workflowId: string) => [{ workflowId, withLatest: true }]

  it('applies a change with all its rows and events, and shows it to everyone', async () => {
    const [id = ''] = await startSome(store, 1)
    await store.change(target(id), pausing)
    expect((await other.findWorkflow(id))?.workflow).toMatchObject({ state: 'paused', pauseCause: 'request' })
    expect(await other.activeExecutions(id)).toMatchObject([{ state: 'paused', owner: null }])
    expect(await other.events(id)).toMatchObject([
      { type: 'workflow.started' },
      { type: 'step.scheduled', to: 'scheduled' },
      { type: 'step.held', from: 'scheduled', to: 'paused' },
      { type: 'workflow.paused', from: 'ready', to: 'paused', by: 'ann', reason: 'because' },
    ])
  })

  it('keeps the due time of a row that is held and let go', async () => {
    const [id = ''] = await startSome(store, 1, { first: { due: { inMs: 3_600_000 }, queue: 'later' } })
    const before = (await store.activeExecutions(id))[0]
    const planned = await plan()
    await store.change(target(id), pausing)
    await store.change(target(id), facts => decided(facts, draft => decideResume(draft, request, planned)))
    expect((await store.activeExecutions(id))[0]).toEqual(before)
  })

  it.each([
    ['and counts down', { updated: [{ node: 'last', open: 5, by: 30 }], cleared: false }],
    ['and counts no more', { updated: [], cleared: true }],
  ])('records many rows of one worker that have ended, with their events, %s', async (_, counters) => {
    const held = { state: 'in_progress', owner: 'worker' } as const
    const first = Array.from({ length: 30 }, (_, index) => ({ slot: `b${index}`, node: `b${index}`, ...held }))
    const order = await makeOrder(store, { first })
    await store.start([order])
    const report = (facts: WorkflowFacts) =>
      changeOf(order.id, {
        endings: facts.active.map(row => ended(row)),
        removals: facts.active.map(({ slot }) => ({ slot })),
        fanIns: { inserted: [], removed: [], ...counters },
        events: facts.active.map(({ id }) => ({ workflowId: order.id, type: 'step.completed', executionId: id })),
      })
    await store.change([{ workflowId: order.id }], report, { workerId: 'worker' })
    expect(await store.activeExecutions(order.id)).toEqual([])
    const history = await store.history(order.id)
    expect(history.map(({ id }) => id).toSorted()).toEqual(order.first.map(({ id }) => id).toSorted())
    const told = (await store.events(order.id)).filter(({ type }) => type === 'step.completed')
    expect(told).toHaveLength(30)
  })

  it('undoes everything when the decision throws', async () => {
    const ids = (await startSome(store, 2)).toSorted()
    let seen = 0
    const failing = store.change(ids.flatMap(target), facts => {
      if (++seen === 2) throw new Error('second thoughts')
      return pausing(facts)
    })
    await expect(failing).rejects.toThrow('second thoughts')
    for (const id of ids) expect((await store.findWorkflow(id))?.workflow.state).toBe('ready')
  })

  it('lets exactly one of two opposite requests win, whoever comes first', async () => {
    const ids = await startSome(store, 20)
    const planned = await Promise.all(ids.map(plan))
    await Promise.all(
      ids.flatMap((id, index) => {
        const own = planned[index]
        if (!own) throw new Error('no plan')
        return [
          store
            .change(target(id), facts => decided(facts, draft => decideCancel(draft, request, own)))
            .catch(() => null),
          other.change(target(id), pausing).catch(() => null),
        ]
      }),
    )
    for (const id of ids) {
      expect((await store.findWorkflow(id))?.workflow.state).toBe('canceled')
      expect(await store.activeExecutions(id)).toEqual([])
      const ends = (await store.history(id)).filter(row => row.outcome === 'stopped')
      expect(ends).toHaveLength(1)
    }
  })

  it('never holds a row that a claim took at the same instant', async () => {
    const ids = await startSome(store, 40, { first: { queue: 'race' } })
    const [, claimed] = await Promise.all([
      Promise.all(ids.map(id => other.change(target(id), pausing))),
      store.claim({ workerId: 'worker', sources: [{ ...sampleSource, queue: 'race' }], limit: 40 }),
    ])
    const running = new Set(claimed.map(item => item.execution.id))
    for (const id of ids) {
      const [row] = await store.activeExecutions(id)
      expect(row?.state).toBe(running.has(row?.id ?? '') ? 'in_progress' : 'paused')
      if (row?.state === 'in_progress') expect(row).toMatchObject({ owner: 'worker', fence: 1 })
    }
  })

  it('does not show a workflow that does not exist', async () => {
    const [id = ''] = await store.takeIds(1)
    const changes: WorkflowChange[] = await store.change([{ workflowId: id }], () => {
      throw new Error('shown')
    })
    expect(changes).toEqual([])
  })

  it('tells whether the worker still holds its lease', async () => {
    const [id = ''] = await startSome(store, 1)
    const seen: (number | null)[] = []
    const look = (workerId?: string) =>
      store.change(
        [{ workflowId: id }],
        (_, revision) => {
          seen.push(revision)
          return null
        },
        workerId === undefined ? {} : { workerId },
      )
    await look('worker')
    await look('nobody')
    await look()
    expect(seen).toEqual([0, null, null])
  })

  it('applies a change that is longer than what a server takes at once', async () => {
    const [id = ''] = await startSome(store, 1)
    const inputOf = (index: number) => JSON.stringify([index, ...Array.from({ length: 125_000 }, () => 'a')])
    const first = Array.from({ length: 16 }, (_, index) => ({
      slot: `mail/${index}`,
      node: `mail/${index}`,
      input: inputOf(index),
    }))
    const order = await makeOrder(store, { first })
    const insertions = order.first.map(row => ({ ...row, workflowId: id }))
    await store.change(target(id), () => changeOf(id, { insertions }))
    const rows = (await other.activeExecutions(id)).filter(row => row.node.startsWith('mail/'))
    const inputs = new Map(rows.map(row => [row.node, row.input]))
    expect(inputs).toEqual(new Map(first.map(({ node, input }) => [node, input])))
  })
})
