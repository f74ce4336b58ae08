/** How a worker divides its room: nobody comes first twice in a row while there is more to do than room, and no turn is lost. */
import { expect, it } from 'vitest'
import { ClaimPlan } from '../../../src/worker/claim-plan.ts'
import { QueueRules } from '../../../src/worker/queue-rules.ts'
import { RunningSteps } from '../../../src/worker/running-steps.ts'
import { type WorkerOptions, workerSettings } from '../../../src/worker/worker-options.ts'

const rules = new QueueRules({ revision: 0, limits: [] }, () => [])

/** Every look that follows, as the queues and the limit of each share. `taken` steps are thought to run already. */
function looks(queues: readonly string[], options: WorkerOptions, taken = 0) {
  const sources = queues.map(queue => ({ queue, handler: 'Sample', generation: 1 }))
  const plan = new ClaimPlan(sources, workerSettings(options))
  const running = new RunningSteps()
  const look = (size = taken) => {
    Object.defineProperty(running, 'size', { value: size, configurable: true })
    return [...plan.shares(running, rules)].map(share => [
      share.sources.map(({ queue }) => queue).join('+'),
      share.limit,
    ])
  }
  return { plan, look }
}

it('without a backlog all queues share one claim', () => {
  const { look } = looks(['a', 'b', 'c'], { concurrency: 10 })
  expect(look()).toEqual([['a+b+c', 10]])
  expect(look()).toEqual([['a+b+c', 10]])
})

it('with a backlog each queue has its part of the room first, in its turn', () => {
  const { plan, look } = looks(['a', 'b', 'c'], { concurrency: 10 })
  plan.noteBacklog(true)
  const firsts = [look(), look(), look(), look()].map(shares => shares[0])
  expect(firsts).toEqual([
    ['a', 4],
    ['b', 4],
    ['c', 4],
    ['a', 4],
  ])
  expect(look()[1]).toEqual(['a+b+c', 10])
})

it('a single queue is claimed from once, backlog or not', () => {
  const { plan, look } = looks(['a'], { concurrency: 10 })
  plan.noteBacklog(true)
  expect(look()).toEqual([['a', 10]])
})

it('queues with limits take turns at coming first', () => {
  const { look } = looks(['a', 'b'], { concurrency: 10, queues: { a: 10, b: 10 } })
  expect([look(), look(), look()].map(shares => shares[0]?.[0])).toEqual(['a', 'b', 'a'])
})

it('a look without room uses up no turn', () => {
  const { plan, look } = looks(['a', 'b'], { concurrency: 10 })
  plan.noteBacklog(true)
  expect(look(9)[0]).toEqual(['a', 1])
  expect([look(10), look(12)]).toEqual([[], []])
  expect(look(9)[0]).toEqual(['b', 1])
})
