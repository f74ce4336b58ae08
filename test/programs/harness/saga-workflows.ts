/**
 * Random sagas that run by themselves, for processes that are killed: bodies take their time, some throw, conditions come
 * out as they come out. The seeds decide about their graphs; what happens to them is left to chance.
 */
import { setTimeout as pause } from 'node:timers/promises'
import fc from 'fast-check'
import { definitionOf } from '../../../src/definition/compile.ts'
import type { Graph } from '../../../src/definition/graph.ts'
import type { AnyWorkflow, ConcreteClass } from '../../../src/index.ts'
import { anySaga, sagaClass } from '../../simulation/saga-plan.ts'
import { seededRandom } from './seeded-random.ts'

/** What a body throws on purpose. */
export class SagaTrouble extends Error {
  override readonly name = 'SagaTrouble'
}

export interface RunningSaga {
  readonly workflow: ConcreteClass<AnyWorkflow>
  readonly graph: Graph
}

const retry = { attempts: 2, backoff: 'fixed', delay: 10, jitter: false } as const
const policies = ['rollback', 'rollback', 'rollback', 'pause', 'skip', 'cancel', 'dlq'] as const

export function runningSaga(seed: number, bodyMs: readonly [number, number] = [0, 0]): RunningSaga {
  const random = seededRandom(seed)
  const work = async (chance: number) => {
    const [least, most] = bodyMs
    await pause(least + Math.random() * (most - least))
    if (Math.random() < chance) throw new SagaTrouble('It was drawn to fail.')
  }
  const [plan = []] = fc.sample(fc.noBias(anySaga), { seed, numRuns: 1 })
  const workflow = sagaClass(plan, `Saga ${seed}`, {
    options: () => ({ onException: random.pick(policies), ...(random.between(0, 2) === 0 ? { retry } : {}) }),
    undoOptions: { retry },
    body: () => work(0.1),
    test: async () => {
      await work(0.02)
      return Math.random() < 0.5
    },
    undo: () => work(0.1),
  })
  return { workflow, graph: definitionOf(workflow).graph }
}
