/** What a worker takes up of the rows that are its own, when the answer to a claim was lost. */
import { expect, it } from 'vitest'
import type { Engine } from '../../../src/engine/engine.ts'
import { IdReserve } from '../../../src/engine/id-pool.ts'
import type { WorkflowFacts } from '../../../src/store/change.ts'
import type { ClaimedExecution } from '../../../src/store/records.ts'
import { ErrorListener } from '../../../src/worker/error-listener.ts'
import { LostClaims } from '../../../src/worker/lost-claims.ts'
import { RunningSteps } from '../../../src/worker/running-steps.ts'
import { facts, row } from '../engine/facts.ts'

const claimed = (id: string, fence = 1): ClaimedExecution => ({
  execution: row({ id, slot: id, workflowId: '7', fence }),
  workflow: facts({}).workflow,
  input: null,
})

/** A worker that finds `held` to be its own; `meanwhile` happens before it has read that. */
function lookAt(held: readonly ClaimedExecution[], leaseMs = 60_000) {
  const running = new RunningSteps()
  const performed: string[] = []
  const perform = (item: ClaimedExecution) => {
    performed.push(item.execution.id)
    running.add(item)
  }
  let meanwhile = () => {}
  const heldBy = async () => {
    meanwhile()
    return held
  }
  const engine = { store: { heldBy } } as unknown as Engine
  const lost = new LostClaims({ engine, running, leaseMs, perform, onError: new ErrorListener(() => {}) })
  const adopt = async (happens = () => {}) => {
    meanwhile = happens
    await lost.adopt('worker', performance.now())
    return performed
  }
  return { running, adopt }
}

it('runs what is its own and not here', async () => {
  const { running, adopt } = lookAt([claimed('a'), claimed('b')])
  running.add(claimed('a'))
  expect(await adopt()).toEqual(['b'])
})

it('leaves alone what has come and ended while it looked', async () => {
  const { running, adopt } = lookAt([claimed('started'), claimed('next')])
  const before = running.add(claimed('before'))
  const performed = await adopt(() => {
    running.remove(running.add(claimed('started')))
    running.goOn(before, claimed('next'))
    running.remove(before)
  })
  expect(performed).toEqual([])
})

it('knows the answer to a claim that it has taken up, however late it comes, and no later claim of the same row', async () => {
  const { running, adopt } = lookAt([claimed('a')])
  await adopt()
  expect(running.wasAdopted(claimed('a').execution)).toBe(true)
  expect(running.wasAdopted(claimed('a', 2).execution)).toBe(false)
  expect(running.wasAdopted(claimed('b').execution)).toBe(false)
})

it('leaves what may have been called once to the heartbeat, which calls it lost', async () => {
  const called = claimed('called')
  const held = [{ ...called, execution: { ...called.execution, startMark: true } }, claimed('b')]
  expect(await lookAt(held).adopt()).toEqual(['b'])
})

it('leaves everything to the heartbeat when half a lease is over', async () => {
  expect(await lookAt([claimed('a')], 0).adopt()).toEqual([])
})

it('does not take over what is taken up while it waits for the lock', async () => {
  const running = new RunningSteps()
  const item = {
    ...claimed('a'),
    execution: { ...claimed('a').execution, state: 'in_progress', owner: 'worker' } as const,
  }
  const changes: unknown[] = []
  const change = async (_: unknown, decide: (facts: WorkflowFacts) => unknown) => {
    running.add(item)
    changes.push(decide(facts({ active: [item.execution] })))
    return []
  }
  const store = { change, heldBy: async () => [item], workflowStates: async () => new Map(), isLasting: () => false }
  const engine = {
    store,
    ids: new IdReserve({ takeIds: async () => [] }),
    courses: { of: async () => new Map() },
    ends: { noteAll: () => {} },
  } as unknown as Engine
  const errors: unknown[] = []
  const onError = new ErrorListener(error => errors.push(error))
  const lost = new LostClaims({ engine, running, leaseMs: 60_000, perform: () => {}, onError })
  await lost.takeOver('worker', new Set(['a']))
  expect(changes).toEqual([null])
  // Of one that is still lost it would tell that its graph is gone.
  expect(errors).toEqual([])
})
