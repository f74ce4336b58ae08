/**
 * The thread that stands in for the heartbeat: a busy event loop keeps its claims. That a process which is stopped loses them, for
 * all that it has a thread, is tested with the fences.
 */
import { expect, it } from 'vitest'
import { Blocker } from '../programs/harness/load-workflows.ts'
import { forEachDatabaseAtOnce } from '../support/databases.ts'
import { CrashWorld, shortLease } from './crash-world.ts'

/** Long enough for a busy machine to start a thread in time, short enough to be outlasted. */
const options = { ...shortLease, lease: 1500 }

type Told = { blocking?: string; went?: string; error?: string }

forEachDatabaseAtOnce('a step that blocks the event loop for longer than the lease', database => {
  it('keeps its claim: nobody else begins it, and its result counts', { timeout: 90_000 }, async () => {
    await using world = await CrashWorld.open(database)
    const worker = await world.worker({ options })
    const blocked = await world.geneva.start(Blocker, { input: { ms: 5000 } })
    await worker.nextMessage((message: Told) => message.blocking === blocked.id)
    const other = await world.worker({ options })
    await blocked.waitUntilFinished({ timeout: '40s' })
    expect((await blocked.history()).map(row => [row.step, row.attempt, row.outcome])).toEqual([
      ['block', 1, 'success'],
    ])
    for (const program of [worker, other]) {
      program.kill('SIGTERM')
      expect(await program.exited).toEqual({ code: 0, signal: null })
      expect(program.messages.filter(message => (message as Told).error)).toEqual([])
    }
  })

  it('loses its claim where there is no thread', { timeout: 90_000 }, async () => {
    await using world = await CrashWorld.open(database)
    // Both are up before the step begins in one of them: the other is there to take it over as soon as it may.
    const without = { options: { ...options, heartbeatThread: false } }
    await Promise.all([world.worker(without), world.worker(without)])
    const blocked = await world.geneva.start(Blocker, { input: { ms: 5000 } })
    await blocked.waitUntilFinished({ timeout: '40s' })
    const [first] = await blocked.history()
    expect(first?.outcome).toBe('recovered')
  })
})
