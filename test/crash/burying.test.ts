/** Dead workers: they are declared dead and removed, however many, but not while anything can still happen in their name. */
import { expect, it } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import { openAccess } from '../programs/harness/plain-access.ts'
import { forEachDatabase, forEachServerAtOnce } from '../support/databases.ts'
import { openSameStore, startSome } from '../support/open-store.ts'
import { waitFor } from '../support/wait-for.ts'

const handlers = ['Sample']
const many = 45

function register(store: Store, id: string, leaseMs: number): Promise<void> {
  return store.registerWorker({ id, host: 'here', pid: 1, leaseMs, handlers })
}

forEachDatabase('many dead workers', database => {
  it('are all removed, also when some of them have left work behind', async () => {
    const { url } = await database.isolated()
    const store = await openSameStore(url)
    const access = await openAccess(url)
    const ids = Array.from({ length: many }, (_, index) => `worker-${String(index).padStart(2, '0')}`)
    await Promise.all(ids.map(id => register(store, id, 1000)))
    await startSome(store, 30)
    const sources = [{ queue: 'default', handler: 'Sample', generation: 1 }]
    for (const workerId of ids.slice(0, 30)) await store.claim({ workerId, sources, limit: 1 })
    const left = async () => {
      const found = await store.findAbandoned(['Other'], 10)
      expect(found).toEqual([])
      return access.query(`select id from ${access.table('geneva_drive_workers')} order by id`)
    }
    const owners = await waitFor(async () => {
      const rows = await left()
      return rows.length === 30 ? rows : null
    })
    expect(owners.map(row => row.id)).toEqual(ids.slice(0, 30))
    // They were registered one after the other: the last lease may still hold when the last idle worker has gone.
    await waitFor(async () => (await store.findAbandoned(handlers, 100)).length === 30)
    await access.close()
    await store.close()
  })
})

forEachServerAtOnce('a worker that leaves', database => {
  it('stays on record while a transaction in its name is open, so that what that one leaves is found', async () => {
    const { url } = await database.isolated()
    const store = await openSameStore(url)
    const access = await openAccess(url)
    const workers = access.table('geneva_drive_workers')
    await register(store, 'leaving', 60_000)
    const [id] = await startSome(store, 1)
    await access.query('begin')
    const lock = access.kind === 'postgres' ? 'for key share' : 'lock in share mode'
    await access.query(`select id from ${workers} where id = 'leaving' ${lock}`)
    const retired = store.retireWorker('leaving')
    await access.query(`update ${access.table('geneva_drive_active_executions')}
      set state = 'in_progress', owner = 'leaving', sort_key = null where workflow_id = ${Number(id)}`)
    // PostgreSQL lets it leave meanwhile; MySQL makes it wait.
    if (access.kind === 'postgres') await retired
    await access.query('commit')
    await retired
    await waitFor(async () => (await store.findAbandoned(handlers, 10)).some(row => row.workflowId === id))
    await Promise.all([access.close(), store.close()])
  })
})
