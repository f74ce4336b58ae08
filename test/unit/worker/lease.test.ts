/** A heartbeat looks at all that its worker holds, unless that takes long: then mostly at what runs. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { pauseFor } from '../../../src/primitives/pause-for.ts'
import type { HeldExecution, RowKey, Store } from '../../../src/store/store.ts'
import { Lease, type LeaseParts } from '../../../src/worker/lease.ts'
import { RunningSteps } from '../../../src/worker/running-steps.ts'
import { workerSettings } from '../../../src/worker/worker-options.ts'

// Looks take exactly as long as is said here, however busy the machine is.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'hrtime'] }))
afterEach(() => void vi.useRealTimers())

/** Lets time pass until it is so. */
async function until(isSo: () => boolean, mostMs = 60_000): Promise<void> {
  for (let ms = 0; !isSo(); ms++) {
    if (ms > mostMs) throw new Error(`Nothing came of it within ${mostMs} ms: ${isSo}`)
    await vi.advanceTimersByTimeAsync(1)
  }
}

async function end(lease: Lease): Promise<void> {
  const ended = lease.end()
  await vi.runAllTimersAsync()
  await ended
}

/** A lease that nothing runs under. */
function leaseOf(
  heartbeat: Store['heartbeat'],
  { leaseMs = 60_000, heartbeatMs = 10, onOrphans = async () => {} }: LeaseOptions = {},
): Lease {
  const store = { registerWorker: async () => {}, retireWorker: async () => {}, heartbeat } as unknown as Store
  const settings = { ...workerSettings({ lease: leaseMs }), heartbeatMs, heartbeatThread: false }
  const serves = { queues: [], generations: {} }
  return new Lease({ store, running: new RunningSteps(), settings, handlers: [], serves, onOrphans })
}

interface LeaseOptions {
  readonly leaseMs?: number
  readonly heartbeatMs?: number
  readonly onOrphans?: LeaseParts['onOrphans']
}

/** What each heartbeat asked for: `undefined` for all. The looks at all take so long, the last of them each time that follows. */
async function looks(
  lookMs: readonly number[],
  count: number,
  leaseMs = 60_000,
): Promise<(readonly RowKey[] | undefined)[]> {
  const asked: (readonly RowKey[] | undefined)[] = []
  let made = 0
  const heartbeat = async (_id: string, _ms: number, among?: readonly RowKey[]): Promise<HeldExecution[]> => {
    asked.push(among)
    const ms = lookMs[Math.min(made, lookMs.length - 1)] ?? 0
    if (among === undefined) made++
    if (among === undefined && ms > 0) await pauseFor(ms)
    return []
  }
  const lease = leaseOf(heartbeat, { leaseMs })
  await lease.begin()
  await until(() => asked.length >= count)
  await end(lease)
  return asked.slice(0, count)
}

it('looks at all that take long are followed by looks at what runs, for twenty times as long', async () => {
  const asked = await looks([30], 12)
  expect(asked.slice(0, 2)).toEqual([undefined, undefined])
  expect(asked.slice(2)).toEqual(Array.from({ length: 10 }, () => []))
})

it('a single look that takes long, because the database was away, is followed by another: an answer may have been lost', async () => {
  const asked = await looks([0, 100, 0], 6)
  expect(asked).toEqual(Array.from({ length: 6 }, () => undefined))
})

it('a look at all is made every three leases, however long it takes', async () => {
  const asked = await looks([50], 60, 100)
  expect(asked.filter(among => among === undefined).length).toBeGreaterThan(2)
})

it('a look at all that takes no time is made every time', async () => {
  expect(await looks([0], 5)).not.toContainEqual([])
})

it('what was forgotten just after a look at all that took long is taken over within four leases', async () => {
  const leaseMs = 300
  const row = { workflowId: '1', slot: 'a', id: '7', fence: 1, stopping: false, pausing: false }
  let looks = 0
  let forgottenAt = Number.POSITIVE_INFINITY
  const heartbeat = async (_id: string, _ms: number, among?: readonly RowKey[]): Promise<HeldExecution[]> => {
    const held = performance.now() >= forgottenAt ? [row] : []
    if (among !== undefined) return held.filter(({ slot }) => among.some(key => key.slot === slot))
    await pauseFor(60)
    if (++looks === 3) forgottenAt = performance.now()
    return held
  }
  const taken: ReadonlySet<string>[] = []
  const onOrphans = async (_id: string, ids: ReadonlySet<string>) => void taken.push(ids)
  const lease = leaseOf(heartbeat, { leaseMs, heartbeatMs: 30, onOrphans })
  await lease.begin()
  await until(() => taken.length > 0)
  const tookMs = performance.now() - forgottenAt
  await end(lease)
  expect(taken[0]).toEqual(new Set(['7']))
  expect(tookMs).toBeLessThan(4 * leaseMs)
})

it('a new life looks at all, whatever the looks of the one before have taken', async () => {
  const asked: (readonly RowKey[] | undefined)[] = []
  const lease = leaseOf(async (_id, _ms, among) => {
    asked.push(among)
    if (asked.length < 3) await pauseFor(30)
    return asked.length === 4 ? null : []
  })
  await lease.begin()
  await until(() => asked.length >= 5)
  await end(lease)
  expect(asked.slice(0, 5)).toEqual([undefined, undefined, [], [], undefined])
})
