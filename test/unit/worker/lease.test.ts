/** A heartbeat looks at all that its worker holds, unless that takes long: then mostly at what runs. */
import { expect, it } from 'vitest'
import type { HeldExecution, RowKey, Store } from '../../../src/store/store.ts'
import { Lease } from '../../../src/worker/lease.ts'
import { RunningSteps } from '../../../src/worker/running-steps.ts'
import { workerSettings } from '../../../src/worker/worker-options.ts'
import { waitFor } from '../../support/wait-for.ts'

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
    if (among === undefined && ms > 0) await new Promise(resolve => setTimeout(resolve, ms))
    return []
  }
  const store = { registerWorker: async () => {}, retireWorker: async () => {}, heartbeat } as unknown as Store
  const settings = { ...workerSettings({ lease: leaseMs }), heartbeatMs: 10, heartbeatThread: false }
  const lease = new Lease({
    ...{ store, running: new RunningSteps(), settings, handlers: [] },
    serves: { queues: [], generations: {} },
    onOrphans: async () => {},
  })
  await lease.begin()
  await waitFor(() => asked.length >= count)
  await lease.end()
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
