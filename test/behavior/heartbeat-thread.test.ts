/** The thread that stands in for a heartbeat, by itself: what it renews, what it leaves alone, and what it tells when it cannot. */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { isGenevaError } from '../../src/index.ts'
import { processNow, SharedMoment } from '../../src/primitives/shared-moment.ts'
import type { DatabaseOptions } from '../../src/store/database-options.ts'
import { HeartbeatThread } from '../../src/worker/heartbeat-thread.ts'
import { forEachDatabase } from '../support/databases.ts'
import { openSameStore, registerWorker } from '../support/open-store.ts'
import { waitFor } from '../support/wait-for.ts'

/** The compiled one: not every runtime can load its source in a thread. */
const program = new URL('../../.build/src/worker/heartbeat-program.js', import.meta.url)

function start(database: DatabaseOptions, more: { program?: URL } = {}) {
  const renewed = new SharedMoment()
  const failures: unknown[] = []
  const times = { leaseMs: 60_000, heartbeatMs: 20 }
  const onFailure = (error: unknown) => void failures.push(error)
  const thread = HeartbeatThread.start({ database, ...times, renewed, onFailure, program, ...more })
  return { thread, renewed, failures }
}

/** Waits until a lease was renewed so often. */
async function beats(renewed: SharedMoment, count: number): Promise<void> {
  for (let beat = 0; beat < count; beat++) {
    const last = renewed.at
    await waitFor(() => renewed.at > last)
  }
}

forEachDatabase('the heartbeat thread', database => {
  it('renews a lease whose renewal is overdue', async () => {
    const { url } = await database.isolated()
    const store = await openSameStore(url)
    await registerWorker(store, 'short', 1)
    const { thread, renewed, failures } = start({ url })
    thread?.keep('short')
    await waitFor(() => renewed.at > 0)
    // The lease that had lapsed holds for a minute now, so that nobody buries its worker.
    await store.findAbandoned(['Sample'], 10)
    expect(await store.renewLease('short', 60_000)).toBe(true)
    await thread?.end()
    expect(failures).toEqual([])
    await store.close()
  })

  it('never renews a lease that it has found lost: it waits for the next', async () => {
    const { url } = await database.isolated()
    const store = await openSameStore(url)
    for (const id of ['lost', 'next', 'beside']) await registerWorker(store, id)
    const { thread, renewed, failures } = start({ url })
    const beside = start({ url })
    thread?.keep('lost')
    beside.thread?.keep('beside')
    await beats(renewed, 2)
    await store.retireWorker('lost')
    // Another thread on the same machine has come round so often that this one has, too.
    await beats(beside.renewed, 10)
    const foundLost = renewed.at
    // If it still asked for it, it would have it now.
    await registerWorker(store, 'lost')
    await beats(beside.renewed, 10)
    expect(renewed.at).toBe(foundLost)
    thread?.keep('next')
    await beats(renewed, 2)
    await Promise.all([thread?.end(), beside.thread?.end()])
    expect([...failures, ...beside.failures]).toEqual([])
    await store.close()
  })

  it('does nothing while the lease is renewed in time', async () => {
    const { url } = await database.isolated()
    const store = await openSameStore(url)
    await registerWorker(store, 'punctual', 1)
    await registerWorker(store, 'late', 1)
    const { thread, renewed } = start({ url })
    const inAnHour = processNow() + 3_600_000
    renewed.moveTo(inAnHour)
    thread?.keep('punctual')
    // Another thread on the same machine has had time for its renewal meanwhile.
    const other = start({ url })
    other.thread?.keep('late')
    await waitFor(() => other.renewed.at > 0)
    expect(renewed.at).toBeCloseTo(inAnHour, 0)
    await Promise.all([thread?.end(), other.thread?.end()])
    await store.findAbandoned(['Sample'], 10)
    expect(await store.renewLease('punctual', 1000)).toBe(false)
    await store.close()
  })
})

describe('a heartbeat thread that cannot do its work', () => {
  it('tells so when the program is not there, and can be ended', async () => {
    const { thread, failures } = start({ url: 'sqlite:nowhere.db' }, { program: new URL('missing.js', program) })
    const [failure] = await waitFor(() => (failures.length > 0 ? failures : null))
    expect(isGenevaError(failure, 'HEARTBEAT_THREAD')).toBe(true)
    await thread?.end()
    expect(failures).toHaveLength(1)
  })

  it('tells so once when the database is away, however often it tries, and can be ended', async () => {
    let tries = 0
    const nobody = createServer(socket => {
      tries++
      socket.destroy()
    }).listen(0, '127.0.0.1')
    await once(nobody, 'listening')
    const { port } = nobody.address() as AddressInfo
    const { thread, failures } = start({ url: `postgres://nobody@127.0.0.1:${port}/nothing` })
    thread?.keep('anybody')
    const [failure] = await waitFor(() => (failures.length > 0 ? failures : null))
    expect(isGenevaError(failure, 'HEARTBEAT_THREAD')).toBe(true)
    const triesWhenTold = tries
    await waitFor(() => tries >= triesWhenTold + 10)
    expect(failures).toHaveLength(1)
    await thread?.end()
    expect(failures).toHaveLength(1)
    nobody.close()
  })

  it('is not started where the database is opened by a class of the application', () => {
    class Library {
      prepare() {}
      exec() {}
      close() {}
    }
    expect(start({ url: 'sqlite:app.db', driver: Library }).thread).toBeNull()
  })
})
