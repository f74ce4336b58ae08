/** What is passed over gets its turn, also where every look is the first one. */
import { expect, it } from 'vitest'
import type { Engine } from '../../../src/engine/engine.ts'
import { IdReserve } from '../../../src/engine/id-pool.ts'
import type { AbandonedWhere, ChangeCall } from '../../../src/store/store.ts'
import { ErrorListener } from '../../../src/worker/error-listener.ts'
import { LostClaims } from '../../../src/worker/lost-claims.ts'
import { Recovery } from '../../../src/worker/recovery.ts'
import { RunningSteps } from '../../../src/worker/running-steps.ts'
import { facts, row } from '../engine/facts.ts'

const locked = ['1', '2', '3']

const rowOf = (workflowId: string) => row({ workflowId, id: `row of ${workflowId}` })

/** All that is to be taken over is locked by somebody. Tells which workflows were waited for, in vain. */
function engineOfLocked() {
  const waitedFor: string[] = []
  const findAbandoned = async (_: readonly string[], __: number, { among, except = [] }: AbandonedWhere) =>
    (among ?? locked).filter(id => !except.includes(id)).map(rowOf)
  const change = async (
    targets: readonly { readonly workflowId: string }[],
    _: unknown,
    { patienceMs }: ChangeCall,
  ) => {
    if (patienceMs === undefined) return []
    waitedFor.push(...targets.map(({ workflowId }) => workflowId))
    throw new Error('Waited for too long.')
  }
  const { workflow } = facts({})
  const store = {
    findAbandoned,
    change,
    heldBy: async () => locked.map(id => ({ execution: rowOf(id), workflow, input: null })),
    workflowStates: async () => new Map(),
    isLasting: () => false,
    isTransient: () => true,
  }
  const engine = {
    store,
    ids: new IdReserve({ takeIds: async () => [] }),
    courses: { of: async () => new Map() },
    ends: { noteAll: () => {} },
  }
  return { waitedFor, engine: engine as unknown as Engine }
}

const { signal } = new AbortController()

it('what was waited for in vain comes after what was not', async () => {
  const { waitedFor, engine } = engineOfLocked()
  const recovery = new Recovery({ engine, onError: { report: () => {} }, handlers: () => ['Lone'] })
  for (let looks = 0; looks < 3; looks++) {
    await recovery.takeFree(signal)
    await recovery.takeTurns(signal)
  }
  expect(waitedFor).toHaveLength(6)
  for (const id of locked) expect(waitedFor.filter(each => each === id)).toHaveLength(2)
})

it('whoever looks anew each time does not wait for the same ones each time', async () => {
  const { waitedFor, engine } = engineOfLocked()
  for (let looks = 0; looks < 50; looks++) {
    const recovery = new Recovery({ engine, onError: { report: () => {} }, handlers: () => ['Lone'] })
    await recovery.takeFree(signal)
    await recovery.takeTurns(signal)
  }
  expect(waitedFor).toHaveLength(100)
  // Each comes 33 times on average, with a deviation of 3.3: ten are seven of those away.
  for (const id of locked) expect(waitedFor.filter(each => each === id).length).toBeGreaterThanOrEqual(10)
})

it('a worker does not wait for the same of its forgotten claims at every heartbeat', async () => {
  const { waitedFor, engine } = engineOfLocked()
  const onError = new ErrorListener(() => {})
  const lost = new LostClaims({ engine, onError, running: new RunningSteps(), leaseMs: 10_000, perform: () => {} })
  const ids = new Set(locked.map(id => rowOf(id).id))
  for (let heartbeats = 0; heartbeats < 3; heartbeats++) await lost.takeOver('worker', ids)
  expect(waitedFor).toHaveLength(6)
  for (const id of locked) expect(waitedFor.filter(each => each === id)).toHaveLength(2)
})
