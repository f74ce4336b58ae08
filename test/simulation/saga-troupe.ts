/**
 * What plays random sagas on a real store: one engine with the classes of many seeds, and workers that are driven by hand.
 * Seeds are played one after the other and share nothing else, so that one of them alone plays the same again.
 */
import fc from 'fast-check'
import { definitionOf } from '../../src/definition/compile.ts'
import type { Graph } from '../../src/definition/graph.ts'
import { JobRegistry } from '../../src/definition/job-registry.ts'
import { Registry } from '../../src/definition/registry.ts'
import { Engine } from '../../src/engine/engine.ts'
import { type AnyWorkflow, type ConcreteClass, Geneva } from '../../src/index.ts'
import { seededRandom } from '../programs/harness/seeded-random.ts'
import { DrivenWorker } from './driven-worker.ts'
import { type FlakyStore, flakyStore } from './flaky-store.ts'
import { anySaga, type SagaCode, type SagaPlan, sagaClass } from './saga-plan.ts'
import { perform, tell } from './stage.ts'

/** The queues that nodes are spread over, so that the play can choose what is claimed. */
export const sagaQueues = ['red', 'green', 'blue'] as const

export interface Drawn {
  readonly seed: number
  readonly type: string
  readonly plan: SagaPlan
  readonly graph: Graph
  readonly workflow: ConcreteClass<AnyWorkflow>
}

export function drawSaga(seed: number): Drawn {
  const plan = fc.sample(fc.noBias(anySaga), { seed, numRuns: 1 })[0] ?? []
  const type = `Saga ${seed}`
  const workflow = sagaClass(plan, type, codeFor(seed))
  return { seed, type, plan, graph: definitionOf(workflow).graph, workflow }
}

/** Every call stops at a gate, and does there what it is told. */
function codeFor(seed: number): SagaCode {
  const random = seededRandom(seed)
  const policies = ['rollback', 'rollback', 'pause', 'skip', 'cancel', 'dlq'] as const
  return {
    options: () => ({
      queue: random.pick(sagaQueues),
      onException: random.pick(policies),
      ...(random.between(0, 2) === 0 ? { retry: { attempts: 2, backoff: 'fixed', delay: 0, jitter: false } } : {}),
    }),
    undoOptions: { retry: { attempts: 2, backoff: 'fixed', delay: 0, jitter: false } },
    body: async (workflow, name) => perform(await tell(workflow.execution, name), workflow),
    test: async (workflow, name) => {
      const act = await tell(workflow.execution, name)
      if (act === 'throw') await perform(act, workflow)
      return act === 'succeed'
    },
    undo: async (workflow, argument) => {
      const { node, attempt } = argument as { node: string; attempt: number }
      await perform(await tell({ id: workflow.execution.id, node: `undo ${node}`, attempt }), workflow)
    },
  }
}

export class SagaTroupe {
  readonly geneva: Geneva
  readonly flaky: FlakyStore
  readonly engine: Engine
  readonly workers: DrivenWorker[] = []
  #hired = 0
  #clockMs = 0

  private constructor(geneva: Geneva, flaky: FlakyStore, engine: Engine) {
    this.geneva = geneva
    this.flaky = flaky
    this.engine = engine
  }

  static async open(url: string, sagas: readonly Drawn[]): Promise<SagaTroupe> {
    const workflows = sagas.map(({ workflow }) => workflow)
    const geneva = new Geneva({ database: url, workflows })
    const flaky = flakyStore(await geneva.openedStore())
    const engine = new Engine(flaky.store, new Registry(workflows), new JobRegistry([]))
    await engine.register()
    return new SagaTroupe(geneva, flaky, engine)
  }

  living(): DrivenWorker[] {
    return this.workers.filter(worker => !worker.isDead)
  }

  /** There are always two. */
  async fillUp(): Promise<void> {
    while (this.living().length < 2) {
      const worker = new DrivenWorker(`worker ${++this.#hired}`, this.engine)
      this.workers.push(worker)
      await worker.begin()
    }
  }

  /** Whatever waits for its time falls due. */
  async moveClock(): Promise<void> {
    this.#clockMs += 2 * 3_600_000
    ;(await this.geneva.openedStore()).setClockOffset(this.#clockMs)
  }

  /** Lets go whoever still stands at a gate: what they report is refused. The dead are forgotten. */
  async letGo(): Promise<void> {
    for (const worker of this.workers) {
      for (const run of worker.runs.splice(0)) {
        if (run.call === null) continue
        run.open('succeed')
        await run.arrival()
      }
    }
    for (const worker of this.workers.filter(({ isDead }) => isDead)) {
      await worker.end()
      this.workers.splice(this.workers.indexOf(worker), 1)
    }
  }

  async close(): Promise<void> {
    for (const worker of this.workers) await worker.end()
    await this.geneva.close()
  }
}
