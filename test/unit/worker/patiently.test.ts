/** How a step waits for a database that is away, and when it does not wait any longer. */
import { expect, it } from 'vitest'
import { patiently } from '../../../src/worker/patiently.ts'
import { RunningStep } from '../../../src/worker/running-step.ts'
import { facts, row } from '../engine/facts.ts'

const store = { isLasting: (error: unknown) => (error as Error).message === 'never' }

function running(): RunningStep {
  return new RunningStep({ execution: row({}), workflow: facts({}).workflow, input: null }, null)
}

function failing(times: number) {
  const calls = { count: 0 }
  const write = async () => {
    if (++calls.count <= times) throw new Error('away')
    return 'written'
  }
  return { calls, write }
}

it('tries again until it is answered', async () => {
  const { calls, write } = failing(2)
  expect(await patiently(running(), store, write)).toBe('written')
  expect(calls.count).toBe(3)
})

it('rejects for what will never pass', async () => {
  const write = () => Promise.reject(new Error('never'))
  await expect(patiently(running(), store, write)).rejects.toThrow('never')
})

it.each(['timed out', 'canceled', 'shutting down', 'claim lost'] as const)(
  'gives up once the step is %s',
  async reason => {
    const step = running()
    const { calls, write } = failing(Number.POSITIVE_INFINITY)
    const waiting = patiently(step, store, write)
    step.stop(reason)
    expect(await waiting).toBeNull()
    expect(calls.count).toBeLessThanOrEqual(2)
  },
)
