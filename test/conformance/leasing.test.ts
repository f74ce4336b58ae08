/** Leasing: a silent worker is declared dead once, its work is found, and it cannot come back. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import { forEachDatabase } from '../support/databases.ts'
import { changeOf, openSameStore, registerWorker, sampleSource, startSome } from '../support/open-store.ts'
import { waitFor } from '../support/wait-for.ts'

forEachDatabase('leasing', database => {
  let store: Store
  beforeAll(async () => {
    store = await openSameStore((await database.isolated()).url)
  })
  afterAll(() => store.close())

  it('keeps a worker that renews its lease, and tells it what it holds', async () => {
    await registerWorker(store, 'alive')
    const [id = ''] = await startSome(store, 1)
    await store.claim({ workerId: 'alive', sources: [sampleSource], limit: 1 })
    expect(await store.findAbandoned(['Sample'], 10)).toEqual([])
    expect(await store.heartbeat('alive', 60_000)).toMatchObject([
      { workflowId: id, slot: '', fence: 1, stopping: false },
    ])
    expect(await store.heldBy('alive')).toMatchObject([{ workflow: { id }, execution: { owner: 'alive' } }])
  })

  it('tells a worker what it still holds of the rows that it asks for', async () => {
    await registerWorker(store, 'asking')
    const [mine = '', other = '', given = ''] = await startSome(store, 3, { first: { queue: 'asked' } })
    await store.claim({ workerId: 'asking', sources: [{ ...sampleSource, queue: 'asked' }], limit: 3 })
    await store.change([{ workflowId: given }], facts =>
      changeOf(given, { removals: facts.active.map(({ slot }) => ({ slot })) }),
    )
    const keys = [mine, given].map(workflowId => ({ workflowId, slot: '' }))
    expect(await store.heartbeat('asking', 60_000, keys)).toMatchObject([{ workflowId: mine, slot: '', fence: 1 }])
    expect(await store.heartbeat('asking', 60_000, [])).toEqual([])
    expect((await store.heartbeat('asking', 60_000))?.map(row => row.workflowId).toSorted()).toEqual(
      [mine, other].toSorted(),
    )
  })

  it('finds the work of a worker whose lease has lapsed, only for handlers that are known', async () => {
    await registerWorker(store, 'silent', 1)
    const [id = ''] = await startSome(store, 1, { first: { queue: 'lapse' } })
    await store.claim({ workerId: 'silent', sources: [{ ...sampleSource, queue: 'lapse' }], limit: 1 })
    const found = await waitFor(async () => {
      const rows = await store.findAbandoned(['Sample'], 10)
      return rows.length > 0 ? rows : null
    })
    expect(found).toMatchObject([{ workflowId: id, owner: 'silent', state: 'in_progress' }])
    expect(await store.findAbandoned(['Other'], 10)).toEqual([])
    expect(await store.findAbandoned([], 10)).toEqual([])
  })

  it('refuses the heartbeat and the claims of a worker that was declared dead', async () => {
    await registerWorker(store, 'zombie', 1)
    await waitFor(async () => {
      await store.findAbandoned(['Sample'], 10)
      return (await store.heartbeat('zombie', 1)) === null ? true : null
    })
    await startSome(store, 1, { first: { queue: 'zombie' } })
    expect(
      await store.claim({ workerId: 'zombie', sources: [{ ...sampleSource, queue: 'zombie' }], limit: 1 }),
    ).toEqual([])
  })

  it('moves the clock of due times without moving that of leases', async () => {
    await registerWorker(store, 'steady', 60_000)
    const [id = ''] = await startSome(store, 1, { first: { queue: 'clock', due: { inMs: 86_400_000 } } })
    const sources = [{ ...sampleSource, queue: 'clock' }]
    const before = await store.now()
    expect(await store.claim({ workerId: 'steady', sources, limit: 1 })).toEqual([])
    store.setClockOffset(2 * 86_400_000)
    expect((await store.now()) - before).toBeGreaterThanOrEqual(2 * 86_400_000 * 1000)
    const claimed = await store.claim({ workerId: 'steady', sources, limit: 1 })
    expect(claimed.map(item => item.workflow.id)).toEqual([id])
    expect(await store.findAbandoned(['Sample'], 10)).not.toContainEqual(expect.objectContaining({ owner: 'steady' }))
    expect(await store.heartbeat('steady', 60_000)).not.toBeNull()
    store.setClockOffset(0)
  })
})
