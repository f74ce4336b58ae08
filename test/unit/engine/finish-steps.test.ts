/** Reports that are recorded in two halves: what is known is written without a look, and the rest after one. */
import { describe, expect, it } from 'vitest'
import type { Graph } from '../../../src/definition/graph.ts'
import { RecentArrivals } from '../../../src/engine/arrivals.ts'
import type { Engine } from '../../../src/engine/engine.ts'
import type { FinishRequest } from '../../../src/engine/finish-request.ts'
import { finishSteps } from '../../../src/engine/finish-steps.ts'
import { IdPool, IdReserve } from '../../../src/engine/id-pool.ts'
import type { WorkflowRecord } from '../../../src/store/records.ts'
import { chain, completed, courseOf, diamond, facts, graphOf, requestOn, row, rowOf } from './facts.ts'

const reserve = new IdReserve({
  takeIds: async count => Array.from({ length: count }, (_, index) => String(index + 100)),
})

function requestFor(workflow: WorkflowRecord, execution: ReturnType<typeof row>): FinishRequest {
  return requestOn({ ...execution, workflowId: workflow.id }, workflow, { ids: new IdPool(reserve) })
}

it('what is recorded is not reported again when the rest runs out of ids', async () => {
  const { workflow } = facts({})
  const ending = { ...workflow, id: '1' }
  const going = { ...workflow, id: '2' }
  const course = (graph: Graph, of: WorkflowRecord) => courseOf(graph, { workflow: of })
  const last = chain('one')
  const courses = new Map([
    [ending.id, course(last, ending)],
    [going.id, course(diamond, going)],
  ])
  const calls: string[] = []
  const engine = {
    ids: reserve,
    arrivals: new RecentArrivals(),
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

it('what is recorded is told of before the rest is, which may be rejected', async () => {
  const { workflow } = facts({})
  const ending = { ...workflow, id: '1' }
  const locked = { ...workflow, id: '2' }
  const courses = new Map([
    [ending.id, courseOf(chain('one'), { workflow: ending })],
    [locked.id, courseOf(diamond, { workflow: locked })],
  ])
  const told: string[] = []
  const engine = {
    ids: reserve,
    arrivals: new RecentArrivals(),
    courses: { of: async () => courses },
    ends: { noteAll: () => {} },
    store: {
      changeAssumed: async () => 1,
      change: async () => {
        told.push('looked')
        throw new Error('Locked.')
      },
    },
  } as unknown as Engine
  const requests = [requestFor(locked, rowOf('b')), requestFor(ending, row({ node: 'one' }))]
  const call = finishSteps(engine, 'worker', requests, recorded => {
    for (const { claimed } of recorded.keys()) told.push(`recorded ${claimed.workflow.id}`)
  })
  await expect(call).rejects.toThrow('Locked.')
  expect(told).toEqual(['recorded 1', 'looked'])
})

describe('reports that are taken as known', () => {
  const { workflow } = facts({})
  const runOn = { serves: () => true, servesAlso: () => true, revision: 0 }
  const known = courseOf(diamond)

  function engineWith(store: object): { readonly engine: Engine; readonly told: unknown[] } {
    const told: unknown[] = []
    const ends = {
      noteAll: (_: unknown, ends: ReadonlyMap<string, unknown> = new Map()) => told.push(...ends.values()),
    }
    const courses = { of: async () => new Map([[workflow.id, { ...known, ...store }]]) }
    const arrivals = new RecentArrivals()
    return { engine: { ids: reserve, courses, ends, store, arrivals } as unknown as Engine, told }
  }

  const reportOn = (execution: ReturnType<typeof row>) => ({ ...requestFor(workflow, execution), runOn })

  it('give all that begins the time at which it was written', async () => {
    await reserve.ensure(20)
    const { engine } = engineWith({ changeAssumed: async () => 77 })
    const [result] = await finishSteps(engine, 'worker', [reportOn(rowOf('a'))])
    if (result?.kind !== 'recorded') throw new Error('it was refused')
    const begun = [result.next, ...result.also].map(each => each?.execution)
    expect(begun.map(each => each?.node)).toEqual(['b', 'c'])
    for (const each of begun) expect(each).toMatchObject({ createdAt: 77, dueAt: 77, startedAt: 77 })
  })

  it('are refused where the workflow is gone, and nothing begins', async () => {
    await reserve.ensure(20)
    const { engine } = engineWith({ changeAssumed: async () => null, change: async () => [] })
    expect(await finishSteps(engine, 'worker', [reportOn(rowOf('a'))])).toEqual([{ kind: 'refused' }])
  })

  it('hand on the workflow as it was found when somebody has changed it, so that the next are not tried in vain', async () => {
    await reserve.ensure(20)
    const now = { ...workflow, version: workflow.version + 3, blockedBy: 'elsewhere' }
    const found = { ...facts({ active: [rowOf('a')] }), workflow: now, now: 5 }
    const { engine } = engineWith({
      changeAssumed: async () => null,
      change: async (_: unknown, decide: (facts: unknown, revision: number) => unknown) => [decide(found, 0)],
    })
    const [result] = await finishSteps(engine, 'worker', [reportOn(rowOf('a'))])
    expect(result).toMatchObject({ kind: 'recorded', next: { workflow: now }, also: [{ workflow: now }] })
  })

  it('tell the end of a workflow with what comes last in it, unless a condition decides what that is', async () => {
    const open = graphOf({ x: '', c: '', y: 'x c', d: 'c y' })
    const asks = graphOf({ c: '', y: 'c', d: 'c y' }, { y: { guard: { condition: 'c', when: true } } })
    for (const [graph, ends] of [
      [open, 1],
      [asks, 0],
      [diamond, 1],
    ] as const) {
      const { engine, told } = engineWith({ changeAssumed: async () => 9, graph })
      const ending = { ...requestFor(workflow, rowOf('d')), report: { ...completed, output: '"last"' } }
      expect(await finishSteps(engine, 'worker', [ending])).toMatchObject([{ kind: 'recorded', next: null }])
      expect(told).toHaveLength(ends)
      if (ends === 1) expect(told).toMatchObject([{ output: '"last"', workflow: { state: 'finished', endedAt: 9 } }])
    }
  })

  it.each([
    ['was recorded where the row stands as it left it', { dueAt: 9_000 }, 'recorded'],
    [
      'was recorded where somebody has claimed the row since',
      { dueAt: 9_000, state: 'in_progress', fence: 7 },
      'recorded',
    ],
    ['is refused where the row was taken over before its call', { crashes: 1 }, 'refused'],
    ['is refused where the row was taken over, and put off by another', { crashes: 1, dueAt: 9_000 }, 'refused'],
    ['is refused where the row was given back', {}, 'refused'],
  ] as const)('a report of the same row in another state %s', async (_, moved, kind) => {
    const mine = row({ node: 'a', fence: 5, crashes: 0, dueAt: 1_000 })
    const now = { ...mine, state: 'scheduled' as const, owner: null, fence: 6, ...moved }
    const { engine } = engineWith({
      changeAssumed: async () => null,
      change: async (_: unknown, decide: (facts: unknown, revision: number) => unknown) =>
        [decide({ ...facts({ active: [now] }), workflow }, 0)].filter(change => change !== null),
    })
    for (const report of [
      { kind: 'postpone', waitMs: 5, reason: null },
      { kind: 'suspend', waitMs: 5, reason: null },
    ] as const) {
      const [result] = await finishSteps(engine, 'worker', [{ ...reportOn(mine), report }])
      expect(result?.kind).toBe(kind)
    }
  })
})
