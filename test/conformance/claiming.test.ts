/** Claiming: who gets which rows, in which order, and what a claim is worth. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { JobRegistry } from '../../src/definition/job-registry.ts'
import { Registry } from '../../src/definition/registry.ts'
import { Engine } from '../../src/engine/engine.ts'
import { Workflow } from '../../src/index.ts'
import type { WorkflowChange } from '../../src/store/change.ts'
import type { ActiveExecution } from '../../src/store/records.ts'
import type { Store } from '../../src/store/store.ts'
import { ClaimPlan } from '../../src/worker/claim-plan.ts'
import { workerSettings } from '../../src/worker/worker-options.ts'
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

class Planned extends Workflow {
  static {
    this.step('go')
  }
  async go() {}
}

const otherSource = { ...sampleSource, handler: 'Other' }

forEachDatabase('claiming', database => {
  let store: Store
  let other: Store
  let workers = 0
  let worker = ''
  let url = ''

  beforeAll(async () => {
    url = (await database.isolated()).url
    store = await openSameStore(url)
    other = await openSameStore(url)
  })
  beforeEach(async () => {
    worker = await registerWorker(store, `worker-${++workers}`)
    await drain()
  })
  afterAll(async () => {
    await store.close()
    await other.close()
  })

  /** Leaves nothing for the next test. */
  async function drain(): Promise<void> {
    const sources = [sampleSource, otherSource]
    while ((await store.claim({ workerId: worker, sources, limit: 500 })).length > 0);
  }

  it('gives a row to one of many claimers at the same instant, and loses none', async () => {
    const ids = await startSome(store, 200)
    const second = await registerWorker(other, `worker-${++workers}`)
    const claims = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        (i % 2 ? other : store).claim({ workerId: i % 2 ? second : worker, sources: [sampleSource], limit: 30 }),
      ),
    )
    const claimed = claims.flat().map(item => item.workflow.id)
    expect(new Set(claimed).size).toBe(claimed.length)
    for (;;) {
      const rest = await store.claim({ workerId: worker, sources: [sampleSource], limit: 30 })
      if (rest.length === 0) break
      claimed.push(...rest.map(item => item.workflow.id))
    }
    expect(claimed.toSorted()).toEqual(ids.toSorted())
  })

  it('raises the fence and names the owner', async () => {
    const [id = ''] = await startSome(store, 1)
    const [claimed] = await store.claim({ workerId: worker, sources: [sampleSource], limit: 10 })
    expect(claimed?.execution).toMatchObject({ workflowId: id, state: 'in_progress', owner: worker, fence: 1 })
    expect(await store.activeExecutions(id)).toEqual([claimed?.execution])
  })

  it('tells of each of many rows what stands in the table from then on', async () => {
    const queue = 'told'
    const begun = { queue, state: 'suspended', fence: 3, startedAt: 1_000_000 } as const
    const progress = { cursor: '7', completedIterations: 7, total: 20, runs: 2 }
    const wide = await makeOrder(store, {
      type: 'Wide',
      first: Array.from({ length: 1200 }, (_, index) => ({ slot: `b${index}`, node: `b${index}`, queue })),
    })
    const some = await makeOrder(store, { first: [{ ...begun, progress, slot: 'a', node: 'a' }] })
    await store.start([wide, some])
    await startSome(store, 30, { first: { queue } })
    const claimed = await store.claim({ workerId: worker, sources: [{ ...sampleSource, queue }], limit: 2000 })
    expect(claimed).toHaveLength(1231)
    const ids = new Set(claimed.map(({ workflow }) => workflow.id))
    const standing = new Map<string, ActiveExecution>()
    for (const id of ids) for (const row of await store.activeExecutions(id)) standing.set(row.id, row)
    for (const { execution } of claimed) {
      expect(execution).toMatchObject({ state: 'in_progress', owner: worker, startMark: false })
      expect(standing.get(execution.id)).toEqual(execution)
    }
    const went = claimed.find(({ workflow }) => workflow.id === some.id)?.execution
    expect(went).toMatchObject({ fence: 4, startedAt: 1_000_000, progress: { ...progress, runs: 3 } })
  })

  it('takes what is due first, and a higher priority before that', async () => {
    const ago = async (seconds: number) => ({ at: (await store.now()) - seconds * 1_000_000 })
    const [late = ''] = await startSome(store, 1, { first: { due: await ago(20) } })
    const [early = ''] = await startSome(store, 1, { first: { due: await ago(500) } })
    const [urgent = ''] = await startSome(store, 1, { first: { due: await ago(10), priority: 100 } })
    const order: string[] = []
    for (let i = 0; i < 3; i++) {
      const [claimed] = await store.claim({ workerId: worker, sources: [sampleSource], limit: 1 })
      order.push(claimed?.workflow.id ?? '')
    }
    // 100 points of priority count as 200 seconds of waiting, far less than what lies between the due times.
    expect(order).toEqual([early, urgent, late])
  })

  it('leaves alone what is not due, of another queue, of another handler or of newer code', async () => {
    await startSome(store, 1, { first: { due: { inMs: 60_000 } } })
    await startSome(store, 1, { first: { queue: 'mail' } })
    await startSome(store, 1, { first: { handler: 'Unknown' } })
    await startSome(store, 1, { first: { generation: 2 } })
    await startSome(store, 1, { first: { state: 'paused' } })
    expect(await store.claim({ workerId: worker, sources: [sampleSource], limit: 10 })).toEqual([])
    expect(await store.claim({ workerId: worker, sources: [], limit: 10 })).toEqual([])
    expect(
      await store.claim({ workerId: worker, sources: [{ ...sampleSource, generation: 2 }], limit: 10 }),
    ).toHaveLength(1)
    expect(
      await store.claim({ workerId: worker, sources: [{ ...sampleSource, queue: 'mail' }], limit: 10 }),
    ).toHaveLength(1)
  })

  it('finds a row not a microsecond before it is due by the database, and from then on at once', async () => {
    const queue = 'punctual'
    const sources = [{ ...sampleSource, queue }]
    const from = (await store.now()) + 50_000
    const dues = Array.from({ length: 100 }, (_, index) => from + index * 1000)
    const orders = await Promise.all(dues.map(at => makeOrder(store, { first: { queue, due: { at } } })))
    await store.start(orders)
    const missing = new Set(dues)
    // Rows a millisecond apart: each look takes those whose time has come and leaves the next.
    while (missing.size > 0) {
      const before = await store.now()
      const claimed = await store.claim({ workerId: worker, sources, limit: 500 })
      const after = await store.now()
      for (const { execution } of claimed) {
        expect(execution.dueAt).toBeLessThanOrEqual(after)
        expect(execution.startedAt ?? 0).toBeGreaterThanOrEqual(execution.dueAt)
        missing.delete(execution.dueAt)
      }
      expect([...missing].filter(due => due <= before)).toEqual([])
    }
  })

  it('merges several sources in one order', async () => {
    const times = [5, 3, 4, 1, 2].map(second => second * 1_000_000)
    for (const [index, at] of times.entries()) {
      await startSome(store, 1, { first: { queue: index % 2 ? 'merge-a' : 'merge-b', due: { at } } })
    }
    const sources = ['merge-a', 'merge-b'].map(queue => ({ ...sampleSource, queue }))
    const claimed = await store.claim({ workerId: worker, sources, limit: 4 })
    expect(claimed.map(item => item.execution.dueAt / 1_000_000)).toEqual([1, 2, 3, 4])
  })

  it('gives nothing to a worker that was declared dead', async () => {
    await startSome(store, 1)
    await store.retireWorker(worker)
    expect(await store.claim({ workerId: worker, sources: [sampleSource], limit: 10 })).toEqual([])
    expect(await store.claim({ workerId: 'never-registered', sources: [sampleSource], limit: 10 })).toEqual([])
  })

  it('writes a start mark only under the fence that holds', async () => {
    await startSome(store, 1)
    const [claimed] = await store.claim({ workerId: worker, sources: [sampleSource], limit: 1 })
    const execution = claimed?.execution
    if (!execution) throw new Error('nothing was claimed')
    expect(await store.markStarted({ ...execution, fence: execution.fence - 1 })).toBe(false)
    expect(await store.markStarted(execution, 'turn')).toBe(true)
    expect((await store.activeExecutions(execution.workflowId))[0]?.startMark).toBe('turn')
    expect(await store.markStarted(execution)).toBe(true)
    expect((await store.activeExecutions(execution.workflowId))[0]?.startMark).toBe(true)
  })

  it('never takes a row that has moved on to a step which is not due', async () => {
    const queue = 'moving'
    await startSome(store, 300, { first: { queue } })
    const second = await registerWorker(other, `worker-${++workers}`)
    const sources = [{ ...sampleSource, queue }]
    const taken: string[] = []
    const mover = async () => {
      for (;;) {
        const claimed = await other.claim({ workerId: second, sources, limit: 20 })
        if (claimed.length === 0) return
        const ids = await other.takeIds(claimed.length)
        const next = new Map(claimed.map((item, index) => [item.workflow.id, ids[index] ?? '']))
        await other.change(
          claimed.map(item => ({ workflowId: item.workflow.id })),
          ({ workflow, active }) => movedOn(workflow.id, active[0], next.get(workflow.id) ?? ''),
        )
      }
    }
    const taker = async () => {
      for (let i = 0; i < 30; i++) {
        for (const item of await store.claim({ workerId: worker, sources, limit: 3 })) taken.push(item.execution.node)
      }
    }
    await Promise.all([mover(), taker()])
    expect(taken.length).toBeGreaterThan(0)
    expect(taken.filter(node => node !== 'one')).toEqual([])
  })

  it('is told every queue in which rows of a handler stand, also those that are held', async () => {
    await startSome(store, 1, { first: { queue: 'left-by-old-code', handler: 'Elsewhere' } })
    await startSome(store, 1, { first: { queue: 'held', handler: 'Elsewhere', state: 'paused' } })
    expect((await store.queuesOf(['Elsewhere'])).toSorted()).toEqual(['held', 'left-by-old-code'])
    expect(await store.queuesOf([])).toEqual([])
  })

  it('is planned by all rows at first, then by what has come into line, and forgets no queue', async () => {
    const engine = new Engine(store, new Registry([Planned]), new JobRegistry([], []))
    await engine.register()
    const settings = workerSettings()
    await startSome(store, 1, { first: { queue: 'held-before', handler: 'Planned', state: 'paused' } })
    const first = await ClaimPlan.make(engine, settings)
    expect(first.left).toEqual(['held-before'])
    await startSome(store, 1, { first: { queue: 'come-later', handler: 'Planned' } })
    first.lanes.cameTo({ queue: 'come-later', handler: 'Planned' }, 'lane 200')
    const second = await ClaimPlan.make(engine, settings, first)
    expect(second.lanes.after({ queue: 'come-later', handler: 'Planned' })).toBe('lane 200')
    expect(second.left.toSorted()).toEqual(['come-later', 'held-before'])
    for (const queue of ['default', 'held-before', 'come-later']) expect(second.serves(queue, 'Planned')).toBe(true)
    const only = workerSettings({ queues: ['default'] })
    expect((await ClaimPlan.make(engine, only, null)).left).toEqual([])
  })

  it('is told every queue in which rows of a handler stand in line, due or not, and no queue of others', async () => {
    await startSome(store, 2, { first: { queue: 'in-line', handler: 'Lined' } })
    await startSome(store, 1, { first: { queue: 'in-line', handler: 'Unlined' } })
    await startSome(store, 1, { first: { queue: 'later', handler: 'Lined', due: { inMs: 86_400_000 } } })
    await startSome(store, 1, { first: { queue: 'of-others', handler: 'Unlined' } })
    expect((await store.queuesInLine(['Lined', 'Nobody'])).toSorted()).toEqual(['in-line', 'later'])
    expect(await store.queuesInLine([])).toEqual([])
  })

  const lines = { 'one class': [sampleSource], 'two classes': [sampleSource, otherSource] }
  for (const [classes, sources] of Object.entries(lines)) {
    it(`at the same instant finds something behind what others have found, where there is enough for all: ${classes}`, async () => {
      const stores = [store, other, ...(await Promise.all([openSameStore(url), openSameStore(url)]))]
      const names = await Promise.all(stores.map((each, index) => registerWorker(each, `throng-${classes}-${index}`)))
      for (let round = 0; round < 10; round++) {
        const ids: string[] = []
        for (const { handler } of sources)
          ids.push(...(await startSome(store, 40 / sources.length, { first: { handler } })))
        const claims = await Promise.all(
          stores.map((each, index) => each.claim({ workerId: names[index] ?? '', sources, limit: 10 })),
        )
        expect(claims.filter(claimed => claimed.length === 0)).toEqual([])
        const claimed = claims.flat().map(({ workflow }) => workflow.id)
        expect(new Set(claimed).size).toBe(claimed.length)
        expect(claimed.filter(id => !ids.includes(id))).toEqual([])
        await drain()
      }
      for (const each of stores.slice(2)) await each.close()
    })
  }

  // The others lock what they know by its key: of two at the same instant one may find less than it asks for.
  if (database.name === 'postgres') {
    it('at the same instant finds what others have not, as much as it asks for', async () => {
      const stores = [store, other, ...(await Promise.all([openSameStore(url), openSameStore(url)]))]
      const names = await Promise.all(stores.map((each, index) => registerWorker(each, `crowd-${index}`)))
      for (let round = 0; round < 10; round++) {
        const ids = await startSome(store, 40)
        const claims = await Promise.all(
          stores.map((each, index) => each.claim({ workerId: names[index] ?? '', sources: [sampleSource], limit: 10 })),
        )
        expect(claims.map(claimed => claimed.length)).toEqual([10, 10, 10, 10])
        expect(
          claims
            .flat()
            .map(({ workflow }) => workflow.id)
            .toSorted(),
        ).toEqual(ids.toSorted())
      }
      for (const each of stores.slice(2)) await each.close()
    })
  }
})

/** As if its step had completed and the next one had to wait for a day. */
function movedOn(workflowId: string, row: ActiveExecution | undefined, nextId: string): WorkflowChange | null {
  if (row?.state !== 'in_progress') return null
  const due = { inMs: 86_400_000 }
  const next = { ...row, id: nextId, node: 'two', state: 'scheduled', owner: null, fence: row.fence + 1, due } as const
  return changeOf(workflowId, { endings: [ended(row)], replacements: [next] })
}
