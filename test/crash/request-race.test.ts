/**
 * A request from outside that meets a claim half-way. The request has looked at an idle row and is about to write; whoever
 * claims now must not get that row. Servers only: a file has one writer at a time.
 */
import { expect, it } from 'vitest'
import { openerFor } from '../../src/store/open-store.ts'
import { LongStep } from '../programs/harness/load-workflows.ts'
import { openAccess } from '../programs/harness/plain-access.ts'
import { forEachServerAtOnce } from '../support/databases.ts'
import { connectPlainly } from '../support/plain-sql.ts'
import { somebodyWaits } from '../support/somebody-waits.ts'
import { CrashWorld } from './crash-world.ts'

forEachServerAtOnce('a request', database => {
  it('that ends an idle step is not overtaken by a claim of that step', async () => {
    await using world = await CrashWorld.open(database)
    const { id } = await world.geneva.start(LongStep, { input: { ms: 0, onAbort: 'ignore' } })
    const [row] = await world.access.query(`select id from ${world.access.table('geneva_drive_active_executions')}`)
    const store = await openerFor(world.url)({ url: world.url })
    await store.migrate()
    const watcher = await connectPlainly(database.name, world.url)
    await store.registerWorker({ id: 'eager', host: 'here', pid: 1, leaseMs: 60_000, handlers: ['LongStep'] })

    // The same id in the history, uncommitted, makes the request wait between its look and its write.
    let canceled = Promise.resolve()
    let claimed: unknown[] = []
    {
      await using _ = await heldHistoryRow(world.url, Number(row?.id))
      canceled = world.geneva.cancel(id)
      await somebodyWaits(database.name, watcher)
      const sources = [{ queue: 'default', handler: 'LongStep', generation: 1 }]
      claimed = await store.claim({ workerId: 'eager', sources, limit: 10 })
    }
    await canceled

    expect(claimed).toEqual([])
    expect(await store.findWorkflow(id)).toMatchObject({ workflow: { state: 'canceled' }, performing: false })
    await Promise.all([store.close(), watcher.close()])
  })
})

/** Inserts the row in a transaction that stays open until it is disposed of, and is then rolled back. */
async function heldHistoryRow(url: string, id: number): Promise<AsyncDisposable> {
  const access = await openAccess(url)
  const history = access.table('geneva_drive_step_executions')
  await access.query('begin')
  await access.query(
    `insert into ${history} (id, workflow_id, node, kind, attempt, ordinal, state, outcome, created_at, due_at, ended_at,
       completed_iterations, runs, ancestry_hash, parents)
     values (?, 0, 'x', 'forward', 1, 1, 'completed', 'success', 0, 0, 0, 0, 0, '', '')`,
    [id],
  )
  return {
    async [Symbol.asyncDispose]() {
      await access.query('rollback')
      await access.close()
    },
  }
}
