/**
 * A request from outside that meets a claim half-way. The request has looked at an idle row and is about to write; whoever
 * claims now must not get that row. Servers only: a file has one writer at a time.
 */
import { describe, expect, it } from 'vitest'
import { openerFor } from '../../src/store/open-store.ts'
import { LongStep } from '../programs/harness/load-workflows.ts'
import { openAccess, type PlainAccess } from '../programs/harness/plain-access.ts'
import { CrashWorld, servers } from './crash-world.ts'

/** Somebody waits for a lock in this database. */
async function somebodyWaits(access: PlainAccess): Promise<boolean> {
  const waiting =
    access.kind === 'postgres'
      ? `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      : `select 1 from information_schema.innodb_trx where trx_state = 'LOCK WAIT'`
  return (await access.query(waiting)).length > 0
}

describe.each(servers.map(database => [database.name, database] as const))('a request on %s', (_, database) => {
  it('that ends an idle step is not overtaken by a claim of that step', async () => {
    await using world = await CrashWorld.open(database)
    const { id } = await world.geneva.start(LongStep, { input: { ms: 0, onAbort: 'ignore' } })
    const [row] = await world.access.query(`select id from ${world.access.table('geneva_drive_active_executions')}`)
    const store = await openerFor(world.url)({ url: world.url })
    await store.migrate()
    await store.registerWorker({ id: 'eager', host: 'here', pid: 1, leaseMs: 60_000, handlers: ['LongStep'] })

    // The same id in the history, uncommitted, makes the request wait between its look and its write.
    const blocker = await openAccess(world.url)
    const end = await holdHistoryRow(blocker, Number(row?.id))
    const canceled = world.geneva.cancel(id)
    // MariaDB refreshes what it tells only when nobody has asked for a tenth of a second.
    await expect.poll(() => somebodyWaits(world.access), { interval: 150, timeout: 10_000 }).toBe(true)
    const sources = [{ queue: 'default', handler: 'LongStep', generation: 1 }]
    const claimed = await store.claim({ workerId: 'eager', sources, limit: 10 })
    await end()
    await canceled

    expect(claimed).toEqual([])
    expect(await store.findWorkflow(id)).toMatchObject({ workflow: { state: 'canceled' }, performing: false })
    await store.close()
    await blocker.close()
  })
})

/** Inserts the row in a transaction that stays open until the returned function rolls it back. */
async function holdHistoryRow(access: PlainAccess, id: number): Promise<() => Promise<void>> {
  const history = access.table('geneva_drive_step_executions')
  await access.query('begin')
  await access.query(
    `insert into ${history} (id, workflow_id, node, kind, attempt, ordinal, state, outcome, created_at, due_at, ended_at)
     values (?, 0, 'x', 'forward', 1, 1, 'completed', 'success', 0, 0, 0)`,
    [id],
  )
  return async () => {
    await access.query('rollback')
  }
}
