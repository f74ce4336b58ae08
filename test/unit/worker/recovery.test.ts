/** What is passed over gets its turn, also where every look is the first one. */
import { expect, it } from 'vitest'
import type { Engine } from '../../../src/engine/engine.ts'
import { IdReserve } from '../../../src/engine/id-pool.ts'
import type { AbandonedWhere, ChangeCall } from '../../../src/store/store.ts'
import { Recovery } from '../../../src/worker/recovery.ts'
import { row } from '../engine/facts.ts'

const locked = ['1', '2', '3']

/** All that dead workers have left is locked by somebody. Tells which workflows were waited for, in vain. */
function engineOfLocked() {
  const waitedFor: string[] = []
  const findAbandoned = async (_: readonly string[], __: number, { among, except = [] }: AbandonedWhere) =>
    (among ?? locked).filter(id => !except.includes(id)).map(id => row({ workflowId: id, id: `row of ${id}` }))
  const change = async (
    targets: readonly { readonly workflowId: string }[],
    _: unknown,
    { patienceMs }: ChangeCall,
  ) => {
    if (patienceMs === undefined) return []
    waitedFor.push(...targets.map(({ workflowId }) => workflowId))
    throw new Error('Waited for too long.')
  }
  const store = {
    findAbandoned,
    change,
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
