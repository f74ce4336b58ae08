/**
 * Branches of random graphs that two processes report in random parts, several at once. The database takes them in any order, and its answers come in
 * any order: whatever a process believes, every node begins once, after all that it depends on.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Graph } from '../../../src/definition/graph.ts'
import { RecentArrivals } from '../../../src/engine/arrivals.ts'
import type { Engine } from '../../../src/engine/engine.ts'
import { finishSteps } from '../../../src/engine/finish-steps.ts'
import { IdPool, IdReserve } from '../../../src/engine/id-pool.ts'
import type { AssumedFacts, LatestEnding, WorkflowChange, WorkflowFacts } from '../../../src/store/change.ts'
import type { ActiveExecution, WorkflowRecord } from '../../../src/store/records.ts'
import type { ChangeCall, ChangeTarget } from '../../../src/store/store.ts'
import { completed, courseOf, facts, graphOf, requestOn, rowOf } from './facts.ts'

const turn = () => new Promise(resolve => setImmediate(resolve))

const workers = ['w1', 'w2'] as const
type WorkerId = (typeof workers)[number]
type Decide = (facts: WorkflowFacts, revision: number | null) => WorkflowChange | null

/** One workflow, as the database has it. Whatever is asked of it waits until it is let do it. */
class PlayedDatabase {
  workflow: WorkflowRecord = facts({}).workflow
  readonly active = new Map<string, ActiveExecution>()
  readonly ended = new Map<string, LatestEnding>()
  readonly open = new Map<string, number>()
  readonly asked: (() => void)[] = []
  readonly answers: (() => void)[] = []
  readonly told: (string | null)[] = []
  refuted = 0
  looks = 0
  readonly #graph: Graph

  constructor(graph: Graph) {
    this.#graph = graph
    for (const { id } of graph.entries) this.#begin(rowOf(id, { ancestry: { hash: id, parents: [] } }))
  }

  #begin(row: ActiveExecution): void {
    expect([this.ended.has(row.node), this.active.has(row.node)], row.node).toEqual([false, false])
    this.active.set(row.node, { ...row, state: 'scheduled', owner: null })
  }

  /** The answer comes at another time than what it tells of. */
  #later<T>(work: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.asked.push(() => {
        try {
          const answer = work()
          this.answers.push(() => resolve(answer))
        } catch (error) {
          this.answers.push(() => reject(error))
        }
      })
    })
  }

  readonly changeAssumed = (known: readonly AssumedFacts[], changes: readonly WorkflowChange[]) =>
    this.#later(() => {
      const isRight = known.every(each => this.#isAs(each))
      if (!isRight) this.refuted++
      else for (const change of changes) this.#apply(change)
      return isRight ? 9 : null
    })

  #isAs({ workflow, active, uncounted, counted }: AssumedFacts): boolean {
    const holds = active.every(row => {
      const now = this.active.get(row.node)
      return now?.id === row.id && now.fence === row.fence && now.owner === row.owner
    })
    const isOpen = ({ node, by, leaves }: AssumedFacts['counted'][number]) => {
      const open = this.open.get(node)
      return open !== undefined && (leaves === 'some' ? open > by : open === by)
    }
    const isNew = uncounted.every(node => !this.open.has(node))
    return workflow.version === this.workflow.version && holds && isNew && counted.every(isOpen)
  }

  readonly change = (targets: readonly ChangeTarget[], decide: Decide, { look }: ChangeCall) =>
    this.#later(() => {
      this.looks++
      const { fanIns = [], settle = [] } = targets[0] ?? {}
      const seen: WorkflowFacts = {
        ...facts({}),
        workflow: this.workflow,
        active: [...this.active.values()].filter(row => settle.includes(row.id)),
        complete: false,
        othersGoOn: null,
        fanIns: new Map(fanIns.flatMap(node => (this.open.has(node) ? [[node, this.open.get(node) ?? 0]] : []))),
      }
      const parents = (look?.(seen)?.parents ?? []).flatMap(node => this.ended.get(node) ?? [])
      const change = decide({ ...seen, parents: new Map(parents.map(each => [each.node, each])) }, 0)
      if (change !== null) this.#apply(change)
      return change === null ? [] : [change]
    })

  #apply({ endings, insertions, replacements, fanIns, update }: WorkflowChange): void {
    for (const { execution, state, outcome, reason } of endings) {
      this.#expectAfterAll(execution)
      expect(this.ended.has(execution.node), execution.node).toBe(false)
      this.active.delete(execution.node)
      this.ended.set(execution.node, { ...execution, state, outcome, reason })
    }
    for (const row of [...insertions, ...replacements]) {
      this.#expectAfterAll(row)
      this.#begin({ ...rowOf(row.node), ...row } as unknown as ActiveExecution)
    }
    for (const { node, open } of fanIns.inserted) {
      expect(this.open.has(node), node).toBe(false)
      this.open.set(node, open)
    }
    for (const { node, by } of fanIns.updated) this.open.set(node, (this.open.get(node) ?? Number.NaN) - by)
    for (const { node } of fanIns.removed) expect(this.open.delete(node), node).toBe(true)
    if (fanIns.cleared) this.open.clear()
    if (update !== null) this.workflow = { ...this.workflow, ...update, version: this.workflow.version + 1 }
  }

  /** All that it depends on has ended, and it says so. */
  #expectAfterAll({ node, ancestry }: Pick<ActiveExecution, 'node' | 'ancestry'>): void {
    const parents = this.#graph.find(node)?.dependsOn.map(parent => this.ended.get(parent)?.id)
    expect(ancestry.parents.toSorted(), node).toEqual(parents?.toSorted())
  }

  claim(node: string, owner: WorkerId): ActiveExecution | null {
    const row = this.active.get(node)
    if (row?.state !== 'scheduled') return null
    const claimed = { ...row, state: 'in_progress' as const, owner, fence: row.fence + 1 }
    this.active.set(node, claimed)
    return claimed
  }
}

/** Several processes on one database, each with what it believes. */
class Processes {
  readonly database: PlayedDatabase
  readonly reports: Promise<unknown>[] = []
  readonly #graph: Graph
  readonly #engines: Readonly<Record<WorkerId, Engine>>
  readonly #ids: IdReserve

  constructor(graph: Graph) {
    this.#graph = graph
    this.database = new PlayedDatabase(graph)
    let last = 1000
    this.#ids = new IdReserve({ takeIds: async count => Array.from({ length: count }, () => String(++last)) })
    this.#engines = { w1: this.#engine(), w2: this.#engine() }
  }

  #engine(): Engine {
    const { database } = this
    const { id } = database.workflow
    return {
      ids: this.#ids,
      arrivals: new RecentArrivals(),
      courses: { of: async () => new Map([[id, courseOf(this.#graph, { workflow: database.workflow })]]) },
      ends: {
        noteAll: (_: unknown, ends: ReadonlyMap<string, { readonly output: string | null }> = new Map()) =>
          database.told.push(...[...ends.values()].map(({ output }) => output)),
      },
      store: database,
    } as unknown as Engine
  }

  async ready(): Promise<void> {
    await this.#ids.ensure(500)
  }

  /** Each step returns its name. */
  async report(worker: WorkerId, nodes: readonly string[]): Promise<boolean> {
    const { workflow } = this.database
    const claimed = nodes.flatMap(node => this.database.claim(node, worker) ?? [])
    if (claimed.length === 0) return false
    const requests = claimed.map(row => {
      const report = { ...completed, output: JSON.stringify(row.node) }
      return requestOn(row, workflow, { ids: new IdPool(this.#ids), report })
    })
    this.reports.push(
      finishSteps(this.#engines[worker], worker, requests).then(results => {
        expect(results.map(({ kind }) => kind)).toEqual(requests.map(() => 'recorded'))
      }),
    )
    await turn()
    return true
  }

  async act(what: 'asked' | 'answers', which: number): Promise<void> {
    const list = this.database[what]
    const [next] = list.length === 0 ? [] : list.splice(which % list.length, 1)
    next?.()
    await turn()
  }
}

const names = Array.from('abcdefghij')
const passive = { e: { kind: 'savePoint' as const }, h: { kind: 'fork' as const } }

const anyGraph: fc.Arbitrary<Graph> = fc
  .array(fc.nat({ max: 1023 }), { minLength: names.length, maxLength: names.length })
  .map(masks =>
    graphOf(
      Object.fromEntries(
        names.map((name, index) => {
          const parents = names.slice(0, index).filter((_, before) => ((masks[index] ?? 0) >> before) & 1)
          // What does nothing itself comes after something.
          return [name, (parents.length === 0 && name in passive ? ['a'] : parents).join(' ')]
        }),
      ),
      passive,
    ),
  )

const anyMove = fc.record({
  kind: fc.constantFrom('report', 'report', 'asked', 'answers'),
  worker: fc.constantFrom(...workers),
  mask: fc.nat({ max: 1023 }),
  which: fc.nat({ max: 7 }),
})

type Move = typeof anyMove extends fc.Arbitrary<infer T> ? T : never

async function play(graph: Graph, moves: readonly Move[]): Promise<PlayedDatabase> {
  const processes = new Processes(graph)
  const { database } = processes
  await processes.ready()
  for (const { kind, worker, mask, which } of moves) {
    if (kind !== 'report') await processes.act(kind as 'asked' | 'answers', which)
    else {
      const some = names.filter((_, index) => (mask >> index) & 1)
      await processes.report(worker, some)
    }
  }
  for (let round = 0; round < 200 && database.workflow.state !== 'finished'; round++) {
    if (database.asked.length > 0) await processes.act('asked', 0)
    else if (database.answers.length > 0) await processes.act('answers', 0)
    else if (!(await processes.report(round % 3 === 0 ? 'w2' : 'w1', names))) break
  }
  while (database.asked.length + database.answers.length > 0) {
    await processes.act('asked', 0)
    await processes.act('answers', 0)
  }
  await Promise.all(processes.reports)
  return database
}

describe('branches that are reported in parts', () => {
  it('lead to what follows them once, after all of them, in whatever order', async () => {
    await fc.assert(
      fc.asyncProperty(anyGraph, fc.array(anyMove, { maxLength: 60 }), async (graph, moves) => {
        const database = await play(graph, moves)
        expect([...database.ended.keys()].toSorted()).toEqual(names)
        expect(database.workflow.state).toBe('finished')
        expect([database.active.size, database.open.size]).toEqual([0, 0])
      }),
      { numRuns: 300 },
    )
  })

  it('are counted by each of two parts that have waited for a third, so that neither begins what the other leads to', async () => {
    const graph = graphOf({ a: '', b: 'a', c: 'a', d: 'a', e: 'b c', f: 'b c d', g: 'c d' })
    const processes = new Processes(graph)
    const { database } = processes
    await processes.ready()
    const both = async () => {
      await processes.act('asked', 0)
      await processes.act('answers', 0)
    }
    await processes.report('w1', ['a'])
    await both()
    await processes.report('w1', ['c'])
    // Each of these completes one join with it, and both lead to the same other one.
    await processes.report('w1', ['b'])
    await processes.report('w1', ['d'])
    await both()
    // The last comes first.
    for (let which = 1; database.asked.length + database.answers.length > 0; which = 0) {
      await processes.act('asked', which)
      await processes.act('answers', 0)
    }
    await Promise.all(processes.reports)
    expect([...database.active.keys()].toSorted()).toEqual(['e', 'f', 'g'])
  })

  it('tell nobody the output of a branch as that of the workflow, where what follows all of them does nothing itself', async () => {
    const graph = graphOf({ a: '', b: 'a', c: 'a', d: 'c', j: 'b d' }, { j: { kind: 'savePoint' } })
    const processes = new Processes(graph)
    await processes.ready()
    for (const node of ['a', 'c', 'd', 'b']) {
      await processes.report('w1', [node])
      for (let turn = 0; turn < 3; turn++) {
        await processes.act('asked', 0)
        await processes.act('answers', 0)
      }
    }
    await Promise.all(processes.reports)
    expect(processes.database).toMatchObject({ workflow: { state: 'finished' }, told: [] })
  })

  it('are looked at once at most where one process has them all, and nothing is refuted', async () => {
    const wide = Array.from({ length: 9 }, (_, index) => `p${index}`)
    const nodes = Object.fromEntries(wide.map(name => [name, 'a']))
    const graph = graphOf({ a: '', ...nodes, j: wide.join(' ') })
    const processes = new Processes(graph)
    await processes.ready()
    const { database } = processes
    const settle = async () => {
      while (database.asked.length + database.answers.length > 0) {
        await processes.act('asked', 0)
        await processes.act('answers', 0)
      }
    }
    await processes.report('w1', ['a'])
    await settle()
    for (const part of [wide.slice(0, 3), wide.slice(3, 6), wide.slice(6)]) await processes.report('w1', part)
    await settle()
    await Promise.all(processes.reports)
    expect([...database.active.keys()]).toEqual(['j'])
    expect([database.refuted, database.looks]).toEqual([0, 0])
  })
})
