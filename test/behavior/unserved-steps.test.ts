/** Steps that are due and that no live worker has the code for say so with an event: once each, whoever looks and how often. */
import { expect, it, vi } from 'vitest'
import { type Geneva, Workflow, type WorkflowHandle } from '../../src/index.ts'
import type { Store } from '../../src/store/store.ts'
import { UnservedSteps } from '../../src/worker/unserved-steps.ts'
import { forEachDatabase } from '../support/databases.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'
import { waitFor } from '../support/wait-for.ts'

class Shipping extends Workflow {
  static {
    this.named('shipping')
    this.step('ship', { queue: 'trucks' })
    this.step('bill', { queue: 'office' })
  }
  async ship() {}
  async bill() {}
}

class Waiting extends Workflow<null, { readonly key?: string }> {
  static {
    this.named('waiting')
    this.jobOptions({ perKey: { key: wf => wf.input.key ?? '', concurrency: 100 } })
    this.step('run')
  }
  async run() {}
}

class Other extends Workflow {
  static {
    this.named('other')
    this.step('run')
  }
  async run() {}
}

forEachDatabase('a step that no live worker has the code for', database => {
  const under = useGeneva(database, { workflows: [Other] })
  const line = { queue: 'default', handler: 'waiting' }
  const told = async (wf: WorkflowHandle) => (await wf.events()).filter(event => event.type === 'step.unserved')

  /** A service that only starts work here, or comes back later. */
  const having = (): Geneva => under.another({ workflows: [Waiting, Shipping] })
  const stores = (count: number): Promise<Store[]> =>
    Promise.all(Array.from({ length: count }, () => under.another({ workflows: [Other] }).openedStore()))

  it('says so once, with an event, and runs when the code is there', async () => {
    const service = having()
    const wf = await service.start(Waiting, { input: {} })
    const worker = await under.geneva.startWorker({ ...quickly, lease: 400, missingJob: 50 })
    const [event] = await waitFor(async () => {
      const events = await told(wf)
      return events.length > 0 && events
    })
    expect(event).toMatchObject({
      node: 'run',
      attempt: 1,
      by: null,
      reason: 'no live worker has its code: waiting, queue default',
    })
    const looks = vi.spyOn(await under.geneva.openedStore(), 'findUnserved')
    await waitFor(() => looks.mock.calls.length > 3)
    looks.mockRestore()
    expect(await told(wf)).toHaveLength(1)
    const seen = []
    for await (const each of under.geneva.events({ types: ['step.unserved'], follow: false })) seen.push(each)
    expect(seen).toMatchObject([{ workflowId: wf.id, step: 'run', executionId: event?.executionId }])
    await service.runDue(quickly)
    expect((await wf.refresh()).state).toBe('finished')
    await worker.stop()
    expect((await under.geneva.doctor()).findings).toEqual([])
  })

  it('is told once though many look at the same time', async () => {
    const service = having()
    const wfs = await service.startMany(
      Waiting,
      Array.from({ length: 30 }, (_, key) => ({ input: { key: `k${key % 3}` } })),
    )
    const lookers = (await stores(4)).map(store => new UnservedSteps(store.housekeeping))
    for (let round = 0; round < 3; round++) await Promise.all(lookers.map(looker => looker.tell([line])))
    const counts = async () => Promise.all(wfs.map(async wf => (await told(wf)).length))
    // What one had locked the others have passed over, and nobody has said it twice.
    await Promise.all(lookers.map(looker => looker.tell([line])))
    expect(await counts()).toEqual(wfs.map(() => 1))
    await service.runDue(quickly)
    expect(await counts()).toEqual(wfs.map(() => 1))
    expect((await under.geneva.doctor()).findings).toEqual([])
  })

  it('is told a bounded number at a time, and all of a long line in the end', async () => {
    const service = having()
    const wfs = await service.startMany(
      Waiting,
      Array.from({ length: 250 }, (_, key) => ({ input: key < 180 ? {} : { key: `k${key % 4}` } })),
    )
    const [store] = await stores(1)
    if (store === undefined) throw new Error('There is none.')
    const steps = new UnservedSteps(store.housekeeping)
    const grown = []
    for (let look = 0; look < 4; look++) {
      await steps.tell([line])
      let events = 0
      for await (const each of under.geneva.events({ types: ['step.unserved'], follow: false })) {
        if (wfs.some(wf => wf.id === each.workflowId)) events++
      }
      grown.push(events)
    }
    expect(grown).toEqual([100, 200, 250, 250])
    await service.runDue(quickly)
  })

  it('does not say so while a live worker has the code, or when it is not due yet', async () => {
    const service = having()
    const later = await service.start(Waiting, { input: {} }, { delay: '1 hour' })
    const store = await under.geneva.openedStore()
    expect(await store.findUnserved('')).toEqual([])
    const due = await service.start(Waiting, { input: { key: 'a' } })
    expect(await store.findUnserved('')).toEqual([line])
    expect(await store.findUnserved('job:')).toEqual([])
    const worker = await service.startWorker({ ...quickly, queues: ['elsewhere'] })
    expect(await store.findUnserved('')).toEqual([])
    await worker.stop()
    expect([await told(later), await told(due)]).toEqual([[], []])
    await Promise.all([later.cancel(), due.cancel()])
  })

  it('says so again for the next execution', async () => {
    const service = having()
    const wf = await service.start(Shipping)
    const steps = new UnservedSteps((await under.geneva.openedStore()).housekeeping)
    const both = ['trucks', 'office'].map(queue => ({ queue, handler: 'shipping' }))
    await steps.tell(both)
    await service.runDue({ ...quickly, queues: ['trucks'] })
    await steps.tell(both)
    await steps.tell(both)
    expect((await told(wf)).map(event => event.node)).toEqual(['ship', 'bill'])
    await service.runDue(quickly)
    expect((await wf.refresh()).state).toBe('finished')
  })

  it('is found in every queue and lane that it waits in', async () => {
    const service = having()
    await service.startMany(Waiting, [{ input: { key: 'z' } }, { input: { key: 'y' } }])
    await service.start(Shipping)
    await under.geneva.start(Other)
    const store = await under.geneva.openedStore()
    const lines = [...(await store.findUnserved(''))].toSorted((a, b) => a.handler.localeCompare(b.handler))
    expect(lines).toEqual([{ queue: 'default', handler: 'other' }, { queue: 'trucks', handler: 'shipping' }, line])
    await under.runDue()
    await service.runDue(quickly)
  })

  it('says so when a dispatcher finds nobody for it, after its second notice', async () => {
    const service = having()
    const wf = await service.start(Waiting, { input: {} })
    let pushes = 0
    const push = () => {
      pushes++
      return false
    }
    const dispatchers = await Promise.all(
      [1, 2].map(() => under.geneva.startDispatcher({ every: 5, cooldown: 0, notice: 20, push })),
    )
    await waitFor(async () => (await told(wf)).length > 0)
    const before = pushes
    await waitFor(() => pushes > before + 20)
    await Promise.all(dispatchers.map(dispatcher => dispatcher.stop()))
    expect(await told(wf)).toHaveLength(1)
    await service.runDue(quickly)
  })
})
