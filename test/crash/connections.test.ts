/**
 * A worker whose connections are cut in mid-work: everything still ends, nothing that was recorded is lost or done twice,
 * and the process survives. Servers only: a file has no connection that others can cut.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { auditEvents, auditJournal } from '../programs/harness/crash-audit.ts'
import { TwoBranches } from '../programs/harness/load-workflows.ts'
import type { PlainAccess } from '../programs/harness/plain-access.ts'
import { forEachServerAtOnce } from '../support/databases.ts'
import { waitFor } from '../support/wait-for.ts'
import { CrashWorld } from './crash-world.ts'
import { startLossyProxy } from './lossy-proxy.ts'

/** Every lost answer costs a pause, and every new connection time; on a busy machine that adds up. */
const slow = { timeout: 60_000 }

/** Cuts every connection that an engine has to this database. */
async function cutConnections(access: PlainAccess): Promise<number> {
  if (access.kind === 'postgres') {
    const cut = await access.query(`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'geneva-drive'`)
    return cut.length
  }
  const database = access.table('x').split('.')[0] ?? ''
  const found = await access.query('select id from information_schema.processlist where db = ?', [database])
  // One may have gone by itself meanwhile.
  for (const row of found) await access.query(`kill ${Number(row.id)}`).catch(() => {})
  return found.length
}

forEachServerAtOnce('cut connections', database => {
  it('lose no recorded outcome and run nothing twice when the answer to a commit is lost', slow, async () => {
    await using world = await CrashWorld.open(database)
    let every = 5
    const proxy = await startLossyProxy(world.url, () => every)
    await world.startLoad(40)
    const options = { lease: '3s', heartbeat: 100, poll: 50, concurrency: 10 } as const
    const worker = await world.worker({ url: proxy.url, journalUrl: world.url, options, bodyMs: [0, 5] })
    await world.allEnded(50_000)
    every = 0
    expect(await world.findings()).toEqual([])
    expect(proxy.lost).toBeGreaterThan(5)
    worker.kill('SIGTERM')
    expect(await worker.exited).toEqual({ code: 0, signal: null })
    await proxy.close()
  })

  it('run nothing twice in a graph either, where each step has a place of its own', slow, async () => {
    await using world = await CrashWorld.open(database)
    let every = 3
    const proxy = await startLossyProxy(world.url, () => every)
    const graphs = Array.from({ length: 40 }, () => ({}))
    await world.geneva.startMany(TwoBranches, graphs)
    const options = { lease: '20s', heartbeat: 100, poll: 5, concurrency: 20 } as const
    const worker = await world.worker({ url: proxy.url, journalUrl: world.url, options, bodyMs: [50, 300] })
    await world.allEnded(50_000)
    every = 0
    const rows = await world.rows()
    expect([...auditJournal(rows), ...auditEvents(rows)]).toEqual([])
    expect((await world.geneva.doctor()).findings).toEqual([])
    expect(rows.history.filter(row => row.outcome === 'success')).toHaveLength(graphs.length * 5)
    expect(proxy.lost).toBeGreaterThan(5)
    worker.kill('SIGTERM')
    expect(await worker.exited).toEqual({ code: 0, signal: null })
    await proxy.close()
  })

  it('are replaced, again and again, and all workflows end', slow, async () => {
    await using world = await CrashWorld.open(database)
    await world.startLoad(60)
    const options = { lease: '20s', poll: 50, concurrency: 10 } as const
    const workers = await Promise.all([
      world.worker({ options, bodyMs: [2, 15] }),
      world.worker({ options, bodyMs: [2, 15] }),
    ])
    let cut = 0
    for (let round = 0; round < 15 || (cut <= 15 && round < 150); round++) {
      cut += await cutConnections(world.access)
      await pause(80)
    }
    await world.allEnded(50_000)
    expect(cut).toBeGreaterThan(15)
    expect(await world.findings()).toEqual([])
    for (const worker of workers) worker.kill('SIGTERM')
    for (const worker of workers) expect(await worker.exited).toEqual({ code: 0, signal: null })
  })

  it('do not stop the recovery of what a dead worker has left', slow, async () => {
    await using world = await CrashWorld.open(database)
    await world.startLoad(30)
    const [victim, survivor] = await Promise.all([
      world.worker({ bodyMs: [30, 60] }),
      world.worker({ bodyMs: [30, 60] }),
    ])
    await waitFor(async () => (await world.journal()).some(entry => entry.pid === victim.pid))
    victim.kill()
    for (let i = 0; i < 12; i++) {
      await cutConnections(world.access)
      await pause(100)
    }
    await world.allEnded(50_000)
    expect(await world.findings()).toEqual([])
    survivor.kill('SIGTERM')
    expect(await survivor.exited).toEqual({ code: 0, signal: null })
  })
})
