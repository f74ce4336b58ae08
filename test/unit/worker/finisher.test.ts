/** Reports go out in groups. Those that are made again after a group was rejected are recognised where the first try has recorded them. */
import { expect, it } from 'vitest'
import { RecentArrivals } from '../../../src/engine/arrivals.ts'
import type { Course } from '../../../src/engine/courses.ts'
import type { Engine } from '../../../src/engine/engine.ts'
import type { FinishResult } from '../../../src/engine/finish-request.ts'
import { IdReserve } from '../../../src/engine/id-pool.ts'
import type { AssumedFacts, WorkflowChange, WorkflowFacts } from '../../../src/store/change.ts'
import type { ActiveExecution, WorkflowRecord } from '../../../src/store/records.ts'
import { Finisher, type Report } from '../../../src/worker/finisher.ts'
import { chain, completed, facts, row, threw } from '../engine/facts.ts'

const { workflow } = facts({})
const good: WorkflowRecord = { ...workflow, id: '1' }
const poisonous: WorkflowRecord = { ...workflow, id: '2' }
const graph = chain('a', 'b')

function reportOn(of: WorkflowRecord, report: Report['report']): Report {
  const execution = row({ workflowId: of.id, id: `a of ${of.id}` })
  const runOn = { serves: () => true, revision: 0 }
  return { claimed: { workflow: of, execution, input: null }, report, progress: null, emitted: [], runOn }
}

const courses = new Map(
  [good, poisonous].map((of): [string, Course] => [
    of.id,
    { graph, generation: 3, previous: null, former: [], isOwn: true, heals: false, frozen: null, workflow: of },
  ]),
)

function risingIds(): IdReserve {
  return new IdReserve({ takeIds: async count => Array.from({ length: count }, (_, index) => String(index + 100)) })
}

/** A database that records what is known without a look, and never takes what is about the poisonous workflow. */
class PickyStore {
  readonly written: WorkflowChange[] = []
  /** The answer of its first write is lost. */
  losesAnswer = false
  readonly looks: (readonly { readonly workflowId: string; readonly repeated?: boolean }[])[] = []

  readonly isLasting = () => true
  readonly housekeeping = { poolUse: () => null }

  readonly changeAssumed = async (_: readonly AssumedFacts[], changes: readonly WorkflowChange[]) => {
    // The claim does not hold any more.
    if (this.written.length > 0) return null
    this.written.push(...changes)
    if (this.losesAnswer) throw new Error('Connection lost.')
    return 77
  }

  readonly change = async (
    targets: readonly { readonly workflowId: string; readonly repeated?: boolean }[],
    decide: (facts: WorkflowFacts, revision: number | null) => WorkflowChange | null,
  ) => {
    this.looks.push(targets)
    if (targets.some(({ workflowId }) => workflowId === poisonous.id)) throw new Error('The value does not fit.')
    return targets.flatMap(target => decide(this.#factsOf(target), 0) ?? [])
  }

  #factsOf({ repeated = false }: { readonly repeated?: boolean }): WorkflowFacts {
    const active = this.written.flatMap(({ replacements }) => replacements) as unknown as ActiveExecution[]
    const end = { owner: 'worker', state: 'completed', outcome: 'success' } as const
    const ended = new Map(repeated ? [[`a of ${good.id}`, end]] : [])
    return { ...facts({ active }), workflow: good, ended }
  }
}

/** Of a group of two, of which one is never taken. */
async function reportBoth(store: object): Promise<PromiseSettledResult<FinishResult>[]> {
  const ends = { noteAll: () => {} }
  const engine = { ids: risingIds(), courses: { of: async () => courses }, ends, store, arrivals: new RecentArrivals() }
  const finisher = new Finisher(engine as unknown as Engine)
  return Promise.allSettled([
    finisher.finish('worker', reportOn(good, completed)),
    finisher.finish('worker', reportOn(poisonous, threw({ action: 'pause' }))),
  ])
}

const notTaken = { status: 'rejected', reason: { message: 'The value does not fit.' } }

function goesOn({ written: [change] }: PickyStore): object {
  const id = change?.replacements[0]?.id
  return { status: 'fulfilled', value: { kind: 'recorded', next: { execution: { node: 'b', id } } } }
}

it('a report that was recorded is answered and not made again, where another of its group is never taken', async () => {
  const store = new PickyStore()
  const [recorded, rejected] = await reportBoth(store)
  expect([recorded, rejected]).toMatchObject([goesOn(store), notTaken])
  expect(store.written).toHaveLength(1)
  expect(store.looks.flat().map(({ workflowId }) => workflowId)).toEqual([poisonous.id])
})

it('a report that was recorded goes on with what it has begun, where that was not heard of', async () => {
  const store = new PickyStore()
  store.losesAnswer = true
  const [recorded, rejected] = await reportBoth(store)
  expect([recorded, rejected]).toMatchObject([goesOn(store), notTaken])
  // Made again once, with the word that it may have been recorded, and not written a second time.
  expect(store.written).toHaveLength(1)
  expect(store.looks[0]).toMatchObject([{ workflowId: good.id, repeated: true }])
})

it('where there is one writer, a group that waits for it is not taken apart', async () => {
  const sizes: number[] = []
  await reportBoth({
    hasOneWriter: true,
    isLasting: () => false,
    isTransient: () => true,
    now: async () => 1,
    housekeeping: new PickyStore().housekeeping,
    changeAssumed: async () => null,
    change: async (targets: readonly unknown[]) => {
      sizes.push(targets.length)
      if (sizes.length < 4) throw new Error('The file is busy.')
      return []
    },
  })
  expect(sizes).toEqual([2, 2, 2, 2])
})

it('reports of many items share no group with each other, where together they are more than a server takes at once', async () => {
  const groups: number[] = []
  const of = async (workflows: readonly WorkflowRecord[]) => {
    groups.push(workflows.length)
    return courses
  }
  const ends = { noteAll: () => {} }
  const arrivals = new RecentArrivals()
  const engine = {
    ids: risingIds(),
    courses: { of },
    store: { change: async () => [], housekeeping: new PickyStore().housekeeping },
    ends,
    arrivals,
  }
  const finisher = new Finisher(engine as unknown as Engine)
  const report = (size: number) => ({ kind: 'items', items: ['x'.repeat(size), 'x'.repeat(size)] }) as const
  const largestGroup = async (size: number) => {
    groups.length = 0
    await Promise.all([good, poisonous].map(each => finisher.finish('worker', reportOn(each, report(size)))))
    return Math.max(...groups)
  }
  expect(await largestGroup(100)).toBe(2)
  expect(await largestGroup(1_500_000)).toBe(1)
})

it('a conflict makes a large group wait for a moment, and does not take it apart', async () => {
  const all = Array.from({ length: 100 }, (_, index): WorkflowRecord => ({ ...workflow, id: `${index}` }))
  const course = courses.get(good.id) as Course
  const of = async () => new Map(all.map((each): [string, Course] => [each.id, { ...course, workflow: each }]))
  const looks: number[] = []
  let attempts = 0
  const store = {
    isLasting: () => false,
    isTransient: () => true,
    now: async () => 1,
    housekeeping: new PickyStore().housekeeping,
    changeAssumed: async () => {
      attempts++
      throw new Error('Deadlock found.')
    },
    change: async (targets: readonly unknown[]) => {
      looks.push(targets.length)
      return []
    },
  }
  const engine = {
    ids: risingIds(),
    courses: { of },
    ends: { noteAll: () => {} },
    store,
    arrivals: new RecentArrivals(),
  }
  const finisher = new Finisher(engine as unknown as Engine)
  await Promise.all(all.map(each => finisher.finish('worker', reportOn(each, completed))))
  expect(attempts).toBe(1)
  expect(looks).toEqual([100])
})
