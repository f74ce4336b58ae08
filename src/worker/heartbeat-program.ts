/**
 * The program of the thread that stands in for a worker's heartbeat. While the worker renews its lease in time it only keeps
 * its connection ready; when a renewal is overdue, because the event loop is blocked, it renews. It knows the store and nothing
 * of the engine, and a lease that is lost it leaves lost.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { jittered, pauseFor } from '../primitives/pause-for.ts'
import { processNow, SharedMoment } from '../primitives/shared-moment.ts'
import { within } from '../primitives/within.ts'
import { openerFor } from '../store/open-store.ts'
import type { Store } from '../store/store.ts'
import type { HeartbeatMessage, HeartbeatOrder } from './heartbeat-thread.ts'

const { database, leaseMs, heartbeatMs, renewed: memory } = workerData as HeartbeatOrder
const renewed = new SharedMoment(memory)
/** The worker's own heartbeat comes first, and gets half as long again before it counts as overdue. */
const patienceMs = heartbeatMs * 1.5
/** Sooner than a pool drops a connection that nobody uses. */
const readyMs = 5000
const longestPauseMs = 250
const farewellMs = 500

const stop = new AbortController()
let workerId: string | null = null
let wake = new AbortController()
let store: Store | null = null
/** One message per outage: whoever is blocked reads none, and they must not pile up. */
let failing = false

parentPort?.on('message', (message: HeartbeatMessage) => {
  if ('stop' in message) return stop.abort()
  workerId = message.keep
  wake.abort()
})
stop.signal.addEventListener('abort', leave)

await standIn()

async function standIn(): Promise<void> {
  let usedAt = processNow()
  while (!stop.signal.aborted) {
    const dueAt = workerId === null ? Number.POSITIVE_INFINITY : renewed.at + patienceMs
    const now = processNow()
    try {
      store ??= await openerFor(database.url)({ ...database, poolSize: 1 })
      if (now >= dueAt) await renew(store)
      else if (now >= usedAt + readyMs) await store.now()
      else {
        await sleep(Math.min(dueAt, usedAt + readyMs) - now)
        continue
      }
      usedAt = now
      failing = false
    } catch (error) {
      if (!failing) parentPort?.postMessage(String(error))
      failing = true
      await sleep(jittered(Math.min(heartbeatMs, longestPauseMs), 0.5))
    }
  }
}

async function renew(own: Store): Promise<void> {
  const askedAt = processNow()
  const id = workerId
  if (id === null) return
  if (await own.renewLease(id, leaseMs)) renewed.moveTo(askedAt)
  // The worker finds out by itself, and says under which id it goes on.
  else if (workerId === id) workerId = null
}

async function sleep(ms: number): Promise<void> {
  await pauseFor(ms, wake.signal)
  if (wake.signal.aborted) wake = new AbortController()
}

/** Whatever is under way: a database that does not answer keeps nobody. */
async function leave(): Promise<void> {
  await within(store?.close().catch(() => {}) ?? Promise.resolve(), farewellMs)
  // Ends this thread only.
  process.exit()
}
