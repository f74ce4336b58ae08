/** Reports that are recorded in two halves: what is known is written without a look, and the rest after one. */
import { expect, it } from 'vitest'
import type { Graph } from '../../../src/definition/graph.ts'
import type { Course } from '../../../src/engine/courses.ts'
import type { Engine } from '../../../src/engine/engine.ts'
import type { FinishRequest } from '../../../src/engine/finish-request.ts'
import { finishSteps } from '../../../src/engine/finish-steps.ts'
import { IdPool, IdReserve } from '../../../src/engine/id-pool.ts'
import type { WorkflowRecord } from '../../../src/store/records.ts'
import { chain, completed, diamond, facts, row, rowOf } from './facts.ts'

const reserve = new IdReserve({
  takeIds: async count => Array.from({ length: count }, (_, index) => String(index + 100)),
})

function requestFor(workflow: WorkflowRecord, execution: ReturnType<typeof row>): FinishRequest {
  const claimed = { execution: { ...execution, workflowId: workflow.id }, workflow, input: null }
  return {
    claimed,
    report: completed,
    progress: null,
    emitted: [],
    runOn: null,
    ids: new IdPool(reserve),
    repeated: false,
  }
}

it('what is recorded is not reported again when the rest runs out of ids', async () => {
  const { workflow } = facts({})
  const ending = { ...workflow, id: '1' }
  const going = { ...workflow, id: '2' }
  const course = (graph: Graph, of: WorkflowRecord): Course => {
    return { graph, generation: 3, previous: null, isOwn: true, heals: false, frozen: null, workflow: of }
  }
  const last = chain('one')
  const courses = new Map([
    [ending.id, course(last, ending)],
    [going.id, course(diamond, going)],
  ])
  const calls: string[] = []
  const engine = {
    ids: reserve,
    courses: { of: async () => courses },
    ends: { noteAll: () => {} },
    store: {
      changeAssumed: async (known: readonly { readonly workflow: WorkflowRecord }[]) => {
        calls.push(`known ${known.map(each => each.workflow.id)}`)
        return 1
      },
      change: async (targets: readonly { readonly workflowId: string }[]) => {
        calls.push(`looked ${targets.map(target => target.workflowId)}`)
        // Nobody has ids for it the first time.
        if (calls.length === 2) new IdPool(new IdReserve({ takeIds: async () => [] })).take()
        return []
      },
    },
  } as unknown as Engine
  const requests = [requestFor(ending, row({ node: 'one' })), requestFor(going, rowOf('b'))]
  const [recorded] = await finishSteps(engine, 'worker', requests)
  expect(recorded).toMatchObject({ kind: 'recorded', next: null })
  expect(calls).toEqual(['known 1', 'looked 2', 'looked 2'])
})
