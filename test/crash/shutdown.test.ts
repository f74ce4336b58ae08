/** SIGTERM: a worker stops claiming, lets its steps end within the grace time, gives back the rest, and ends by itself. */
import { expect, it } from 'vitest'
import { Geneva } from '../../src/index.ts'
import { LongStep, loadWorkflows } from '../programs/harness/load-workflows.ts'
import { forEachDatabaseAtOnce } from '../support/databases.ts'
import { waitFor } from '../support/wait-for.ts'
import { CrashWorld } from './crash-world.ts'

/** A lease so long that whatever happens soon did not wait for it. */
const longLease = { lease: '60s', poll: 50 } as const

interface Left {
  readonly left?: string
  readonly reason?: string | null
}

const hasLeft = (message: Left) => message.left !== undefined
const hasBegun = (message: { began?: string }) => message.began !== undefined

forEachDatabaseAtOnce('a worker that is told to end', database => {
  it('lets its step end within the grace time, claims nothing more, and exits by itself', async () => {
    await using world = await CrashWorld.open(database)
    const worker = await world.worker({ options: { ...longLease, grace: '10s' } })
    const wf = await world.geneva.start(LongStep, { input: { ms: 300, onAbort: 'throw' } })
    await worker.nextMessage(hasBegun)
    worker.kill('SIGTERM')
    await worker.nextMessage((message: { told?: boolean }) => message.told === true)
    await world.geneva.start(LongStep, { input: { ms: 0, onAbort: 'throw' } })
    expect(await worker.nextMessage(hasLeft)).toMatchObject({ left: wf.id, reason: null })
    expect(await worker.exited).toEqual({ code: 0, signal: null })
    const history = (await wf.history()).map(row => [row.step, row.state, row.attempt])
    expect(history).toEqual([
      ['linger', 'completed', 1],
      ['after', 'scheduled', 1],
    ])
    expect((await world.journal()).map(entry => entry.workflowId)).toEqual([wf.id])
    expect(await world.access.query(`select id from ${world.access.table('geneva_drive_workers')}`)).toEqual([])
  })

  it('exits by itself also when it has only just begun', async () => {
    await using world = await CrashWorld.open(database)
    const worker = await world.worker({ options: longLease })
    worker.kill('SIGTERM')
    expect(await worker.exited).toEqual({ code: 0, signal: null })
    expect(await world.access.query(`select id from ${world.access.table('geneva_drive_workers')}`)).toEqual([])
  })

  it.each([
    ['gives up when its signal says so', 'throw'],
    ['does not look at its signal', 'ignore'],
  ] as const)('gives a step back that takes longer than the grace time and %s', async (_, onAbort) => {
    await using world = await CrashWorld.open(database)
    const worker = await world.worker({ options: { ...longLease, grace: 50 } })
    const wf = await world.geneva.start(LongStep, { input: { ms: 1300, onAbort } })
    const begun = await worker.nextMessage<{ began?: string; key?: string }>(hasBegun)
    const [before] = await activeRows(world)
    worker.kill('SIGTERM')
    const released = await waitFor(async () => {
      const [row] = await activeRows(world)
      return row?.state === 'scheduled' ? row : null
    })
    expect(released).toMatchObject({ id: before?.id, attempt: before?.attempt, owner: null })
    expect(Number(released.fence)).toBe(Number(before?.fence) + 1)

    await using other = new Geneva({ database: world.url, workflows: loadWorkflows })
    const successor = await world.worker({ options: longLease })
    expect(await successor.nextMessage(hasBegun)).toMatchObject({ began: wf.id, attempt: 1, key: begun.key })
    expect(await worker.nextMessage(hasLeft)).toMatchObject({ left: wf.id, reason: 'shutting down' })
    expect(await worker.exited).toEqual({ code: 0, signal: null })
    expect(await (await other.find(LongStep, wf.id))?.waitUntilFinished({ timeout: '10s' })).toBeUndefined()
    const history = (await wf.history()).map(row => [row.step, row.outcome, row.attempt])
    expect(history).toEqual([
      ['linger', 'success', 1],
      ['after', 'success', 1],
    ])
  })
})

function activeRows(world: CrashWorld) {
  return world.access.query(`select * from ${world.access.table('geneva_drive_active_executions')}`)
}
