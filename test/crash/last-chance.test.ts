/** Steps that have crashed so often that the next crash is the last: they run one at a time, and keep no room from others. */
import { expect, it } from 'vitest'
import { forEachDatabase, forEachDatabaseAtOnce } from '../support/databases.ts'
import { openSameStore, startSome } from '../support/open-store.ts'
import { CrashWorld } from './crash-world.ts'

forEachDatabase('a claim', database => {
  it('takes no more of them than it is told, and leaves the rest in line for others', async () => {
    const store = await openSameStore((await database.isolated()).url)
    for (const id of ['one', 'two']) {
      await store.registerWorker({ id, host: 'here', pid: 1, leaseMs: 60_000, handlers: ['Sample'] })
    }
    await startSome(store, 3, { first: { crashes: 2 } })
    await startSome(store, 2)
    const sources = [{ queue: 'default', handler: 'Sample', generation: 1 }]
    const claim = async (workerId: string, take: number, limit = 10) => {
      const claimed = await store.claim({ workerId, sources, limit, crashed: { times: 2, take } })
      return claimed.map(item => item.execution.crashes)
    }
    expect(await claim('one', 1, 2)).toEqual([2])
    expect(await claim('one', 0, 1)).toEqual([0])
    expect(await claim('two', 1)).toEqual([2, 0])
    expect(await claim('two', 0)).toEqual([])
    expect(await claim('one', 5)).toEqual([2])
    await store.close()
  })
})

forEachDatabaseAtOnce('a worker', database => {
  it('runs them one after the other, and everything else beside them', async () => {
    await using world = await CrashWorld.open(database)
    const { access } = world
    await world.startLoad(5)
    await access.query(`update ${access.table('geneva_drive_active_executions')} set crashes = 2`)
    const suspects = new Set((await world.rows()).workflows.keys())
    await world.startLoad(5)
    await world.worker({ options: { lease: '30s', poll: 10, concurrency: 4 }, bodyMs: [60, 80] })
    await world.allEnded()

    const { history } = await world.rows()
    const firsts = history.filter(row => row.step === 'reserve').sort((a, b) => a.startedAt - b.startedAt)
    const alone = firsts.filter(row => suspects.has(row.workflowId))
    expect(alone).toHaveLength(5)
    for (const [index, row] of alone.entries()) {
      expect(row.startedAt).toBeGreaterThanOrEqual(alone[index - 1]?.endedAt ?? 0)
    }
    const beside = firsts.filter(
      row =>
        !suspects.has(row.workflowId) &&
        alone.some(suspect => row.startedAt < suspect.endedAt && suspect.startedAt < row.endedAt),
    )
    expect(beside.length).toBeGreaterThan(0)
  })
})
