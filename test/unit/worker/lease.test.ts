/** A heartbeat looks at all that its worker holds, unless that takes long: then mostly at what runs. */
import { expect, it } from 'vitest'
import type { HeldExecution, RowKey, Store } from '../../../src/store/store.ts'
import { Lease } from '../../../src/worker/lease.ts'
import { RunningSteps } from '../../../src/worker/running-steps.ts'
import { workerSettings } from '../../../src/worker/worker-options.ts'
import { waitFor } from '../../support/wait-for.ts'

/** What each heartbeat asked for: `undefined` for all. */
async function looks(lookMs: number, count: number, leaseMs = 60_000): Promise<(readonly RowKey[] | undefined)[]> {
  const asked: (readonly RowKey[] | undefined)[] = []
  const heartbeat = async (_id: string, _ms: number, among?: readonly RowKey[]): Promise<HeldExecution[]> => {
    asked.push(among)
    if (among === undefined && lookMs > 0) await new Promise(resolve => setTimeout(resolve, lookMs))
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

it('a look at all that takes long is followed by looks at what runs, for twenty times as long', async () => {
  const asked = await looks(30, 12)
  expect(asked[0]).toBeUndefined()
  expect(asked.slice(1)).toEqual(Array.from({ length: 11 }, () => []))
})

it('a look at all is made every half a lease, however long it takes', async () => {
  const asked = await looks(50, 40, 200)
  expect(asked.filter(among => among === undefined).length).toBeGreaterThan(2)
})

it('a look at all that takes no time is made every time', async () => {
  expect(await looks(0, 5)).not.toContainEqual([])
})
