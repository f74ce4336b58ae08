/**
 * Changes that pass over what others have locked: somebody gets it, and nobody decides on a part of it. And changes that wait for it, but
 * not for long.
 */
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { WorkflowFacts } from '../../src/store/change.ts'
import { openMysql } from '../../src/store/mysql/mysql-database.ts'
import { openPostgres } from '../../src/store/postgres/postgres-database.ts'
import { SqlStore } from '../../src/store/sql/sql-store.ts'
import type { Store } from '../../src/store/store.ts'
import { forEachDatabase, forEachServerAtOnce } from '../support/databases.ts'
import { openSameStore, startSome } from '../support/open-store.ts'
import { connectPlainly } from '../support/plain-sql.ts'

forEachDatabase('changes that pass over what is locked', database => {
  const stores: Store[] = []
  beforeAll(async () => {
    const { url } = await database.isolated()
    for (let count = 0; count < 3; count++) stores.push(await openSameStore(url))
  })
  afterAll(() => Promise.all(stores.map(store => store.close())))

  it('never all pass over the same workflow, however many come at the same instant', async () => {
    const [first] = stores as [Store]
    for (let round = 0; round < 60; round++) {
      const [workflowId = ''] = await startSome(first, 1)
      const seen: WorkflowFacts[] = []
      const look = (facts: WorkflowFacts) => {
        seen.push(facts)
        return null
      }
      const target = { workflowId, lockRows: true, withLatest: true }
      await Promise.all(stores.map(store => store.change([target], look, { passesLocked: true })))
      expect(seen.length).toBeGreaterThan(0)
      expect(seen.every(({ active }) => active.length === 1)).toBe(true)
    }
  })
})

forEachServerAtOnce('a claim that comes again', ({ name, isolated }) => {
  it('gives up after a moment where others have the worker locked, and claims nothing by that', async () => {
    const { url } = await isolated()
    const store = await openSameStore(url)
    await startSome(store, 1)
    await store.registerWorker({ id: 'worker', host: 'test', pid: 1, leaseMs: 60_000, handlers: ['Sample'] })
    const other = await connectPlainly(name, url)
    await other.query('begin')
    await other.query(`select * from geneva_drive_workers where id = 'worker' for update`)
    const sources = [{ queue: 'default', handler: 'Sample', generation: 1 }]
    const request = { workerId: 'worker', sources, limit: 10, comesAgain: true }
    const begun = performance.now()
    const failure = await store.claim(request).catch((error: unknown) => error)
    expect(store.isTransient(failure)).toBe(true)
    expect(performance.now() - begun).toBeLessThan(4000)
    await other.query('rollback')
    expect(await store.claim(request)).toHaveLength(1)
    await Promise.all([other.close(), store.close()])
  })
})

forEachServerAtOnce('a change with little patience', ({ name, isolated }) => {
  const open = { postgres: openPostgres, mysql: openMysql, sqlite: () => Promise.reject(new Error('Has no locks.')) }

  it('gives up when its time is over, and what it was about can be changed as soon as it is free', async () => {
    const { url } = await isolated()
    const database = await open[name]({ url, poolSize: 1, preparedStatements: true })
    const store = new SqlStore(database, { keyType: 'bigint' })
    await store.migrate()
    const [workflowId = ''] = await startSome(store, 1)
    const other = await connectPlainly(name, url)
    await other.query('begin')
    await other.query(`select * from geneva_drive_workflows where id = ${workflowId} for update`)
    const target = { workflowId, lockRows: true, withLatest: true }
    const seen: WorkflowFacts[] = []
    const look = (facts: WorkflowFacts) => {
      seen.push(facts)
      return null
    }
    const failure = await store.change([target], look, { patienceMs: 1000 }).catch((error: unknown) => error)
    expect(store.isTransient(failure)).toBe(true)
    expect(seen).toEqual([])
    await other.query('rollback')
    await store.change([target], look, { patienceMs: 1000 })
    expect(seen).toHaveLength(1)
    await Promise.all([other.close(), store.close()])
  })
})
