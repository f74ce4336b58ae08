/**
 * Random graphs, played with random reports, crashes, requests and deploys: whatever happens, nothing runs too early or
 * twice, nothing is left behind, and every workflow can be brought to its end. A failing run is printed and can be replayed.
 */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  decideCancel,
  decidePause,
  decideReattempt,
  decideResolve,
  decideResume,
  decideSkip,
} from '../../../src/engine/decide-request.ts'
import { isEnd } from '../../../src/engine/end-watch.ts'
import { isSatisfied } from '../../../src/engine/is-satisfied.ts'
import type { StepReport } from '../../../src/engine/step-report.ts'
import { isGenevaError } from '../../../src/errors.ts'
import type { ActiveExecution } from '../../../src/store/records.ts'
import { completed, graphOf, threw } from './facts.ts'
import { PlayedWorkflow } from './played-workflow.ts'

const asked = { by: 'ann', reason: 'because' }
const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
/** These two have items, at most two of which may be under way; the others are steps. */
const kinds = { f: { kind: 'each' as const, concurrency: 2 }, g: { kind: 'each' as const, concurrency: 2 } }

/** Some of the names in any order, each depending on some of those before it. */
const anyEdges: fc.Arbitrary<Edges> = fc
  .shuffledSubarray(names, { minLength: 1 })
  .chain(order =>
    fc.tuple(fc.constant(order), fc.array(fc.nat({ max: 127 }), { minLength: order.length, maxLength: order.length })),
  )
  .map(([order, masks]) => {
    const edges = order.map((name, index) => {
      const parents = order.slice(0, index).filter((_, before) => ((masks[index] ?? 0) >> before) & 1)
      return [name, parents.join(' ')] as const
    })
    return Object.fromEntries(edges)
  })

type Edges = Readonly<Record<string, string>>

type Asked =
  | { readonly kind: 'pause' | 'resume' | 'cancel' }
  | { readonly kind: 'skip' | 'resolve' | 'reattempt'; readonly which?: number; readonly node?: string }

type Action =
  | { readonly kind: 'report'; readonly which: number; readonly what: number; readonly together: number }
  | { readonly kind: 'begin' | 'lose'; readonly which: number }
  | Asked
  | { readonly kind: 'deploy'; readonly edges: Edges }

const anyIndex = fc.nat({ max: 20 })
const anyAction: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('report' as const),
      which: anyIndex,
      what: anyIndex,
      together: fc.nat({ max: 3 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('begin' as const, 'lose' as const), which: anyIndex }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom('pause' as const, 'resume' as const, 'resume' as const) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom('skip' as const, 'resolve' as const, 'reattempt' as const),
      which: anyIndex,
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('deploy' as const), edges: anyEdges }) },
)

const reports: readonly StepReport[] = [
  completed,
  completed,
  completed,
  { kind: 'skip', by: 'condition', reason: null },
  { kind: 'reattempt', waitMs: 0, rewind: false, reason: null },
  threw({ action: 'pause' }),
  threw({ action: 'skip' }),
  threw({ action: 'reattempt' }),
  { kind: 'suspend', waitMs: 0, reason: null },
  { kind: 'released' },
  { kind: 'pause', hold: false, reason: null },
  { kind: 'pause', hold: true, reason: null },
]

/** What ends a workflow before all is done. */
const stops: readonly StepReport[] = [
  { kind: 'finish', output: null, reason: null },
  { kind: 'cancel', by: 'flow_control', reason: null },
  threw({ action: 'cancel' }),
]

class Run {
  readonly wf: PlayedWorkflow
  readonly #reports: readonly StepReport[]
  /** Nodes that were scheduled before, with the id of that row. */
  readonly #seen = new Map<string, string>()

  constructor(edges: Edges, reports: readonly StepReport[]) {
    this.#reports = reports
    this.wf = new PlayedWorkflow(graphOf(edges, kinds))
    this.check()
  }

  act(action: Action): void {
    const { wf } = this
    if (action.kind === 'deploy') wf.deploy(graphOf(action.edges, kinds))
    else if (action.kind === 'report') this.#report(action)
    else if (action.kind === 'begin' || action.kind === 'lose') {
      const node = pick(this.#running(), action.which)?.node
      if (node !== undefined) action.kind === 'begin' ? wf.begin(node) : wf.lose(node)
    } else this.#ask(action as Asked)
    this.check()
  }

  #report({ which, what, together }: { which: number; what: number; together: number }): void {
    const open = this.#running()
    const chosen =
      open.length === 0 ? [] : Array.from({ length: together + 1 }, (_, i) => open[(which + i) % open.length])
    const rows = [...new Set(chosen)].flatMap(found => found ?? [])
    if (rows.length > 0) this.wf.report(...rows.map((row, i) => [row.node, this.#reportOn(row, what + i)] as const))
  }

  #reportOn(row: ActiveExecution, what: number): StepReport {
    const report = pick(this.#reports, what) ?? completed
    const each = this.wf.graph.find(row.node)?.kind === 'each'
    return each && report === completed
      ? { kind: 'items', items: Array.from({ length: what % 5 }, (_, index) => String(index)) }
      : report
  }

  /** What the state does not allow is refused and changes nothing. */
  #ask(action: Asked): void {
    const known = [
      ...new Set(
        [...this.wf.rows.values(), ...this.wf.history.map(({ execution }) => execution)].map(({ node }) => node),
      ),
    ]
    const node = 'which' in action || 'node' in action ? (action.node ?? pick(known, action.which ?? 0) ?? 'a') : ''
    try {
      this.wf.ask((draft, plan) => {
        if (action.kind === 'pause') decidePause(draft, asked)
        if (action.kind === 'resume') decideResume(draft, asked, plan)
        if (action.kind === 'cancel') decideCancel(draft, asked, plan)
        if (action.kind === 'skip') decideSkip(draft, node, asked, plan)
        if (action.kind === 'resolve') decideResolve(draft, { node, request: asked, output: null }, plan)
        if (action.kind === 'reattempt') decideReattempt(draft, node, asked, plan)
      })
    } catch (error) {
      if (!isGenevaError(error, 'INVALID_STATE')) throw error
    }
  }

  #running(): ActiveExecution[] {
    const isOpen = this.wf.workflow.state === 'ready' || this.wf.workflow.state === 'rolling_back'
    const states = isOpen ? ['scheduled', 'in_progress', 'suspended'] : ['in_progress']
    return [...this.wf.rows.values()].filter(({ kind, state }) => kind === 'forward' && states.includes(state))
  }

  check(): void {
    const { wf } = this
    const rows = [...wf.rows.values()]
    const nodes = rows.map(({ node }) => node)
    expect(new Set(nodes).size, 'one row for a node').toBe(nodes.length)
    if (isEnd(wf.workflow.state)) {
      expect([wf.rows.size, wf.counters.size], 'nothing is left of an ended workflow').toEqual([0, 0])
    }
    if (wf.workflow.state === 'ready') {
      expect(this.#running().length, `something goes on: ${wf.standing}`).toBeGreaterThan(0)
    }
    for (const row of rows) this.#checkRow(row)
    this.#checkPlaces()
    this.#checkCounters()
  }

  /** Begins after its parents, and never again once it is satisfied. */
  #checkRow({ node, id, attempt }: ActiveExecution): void {
    const known = this.#seen.get(node)
    this.#seen.set(node, id)
    if (known === id) return
    expect(this.isDone(node), `${node} runs again`).toBe(false)
    const item = this.wf.graph.eachOf(node)
    if (attempt > 1 || item) return
    for (const parent of this.wf.graph.find(node)?.dependsOn ?? []) {
      expect(this.isDone(parent), `${node} begins before ${parent} has ended`).toBe(true)
    }
  }

  #checkPlaces(): void {
    for (const each of ['f', 'g']) {
      const busy = [...this.wf.rows.values()].filter(
        ({ node, state }) => node.startsWith(`${each}/`) && state !== 'waiting',
      )
      expect(busy.length, `items of ${each} under way`).toBeLessThanOrEqual(2)
    }
  }

  /** Counters are right wherever they are gone by. */
  #checkCounters(): void {
    const { wf } = this
    const { state, pauseCause, crooked, generation, finishing } = wf.workflow
    if ((state !== 'ready' && state !== 'paused') || crooked || generation !== wf.generation) return
    if (finishing || pauseCause === 'finishing') return
    for (const { id, dependsOn } of wf.graph.nodes) {
      if (dependsOn.length < 2 || this.#hasBegun(id)) continue
      const open = dependsOn.filter(parent => !this.isDone(parent)).length
      expect(wf.counters.get(id) ?? dependsOn.length, `open parents of ${id}`).toBe(open)
    }
    const leaves = wf.graph.leaves.filter(({ id }) => !this.isDone(id)).length
    if (wf.graph.leaves.length > 1 && leaves > 0) {
      expect(wf.counters.get('') ?? wf.graph.leaves.length, 'open ends').toBe(leaves)
    }
  }

  #hasBegun(node: string): boolean {
    return this.wf.attemptsAt(node).length > 0 || [...this.wf.rows.values()].some(row => row.node === node)
  }

  isDone(node: string): boolean {
    const last = this.wf.attemptsAt(node).at(-1)
    return last !== undefined && (isSatisfied(last) || last.outcome === 'not_taken')
  }

  /** Skips what nobody has code for, completes whatever can run, and resumes what is paused. */
  bringToEnd(): void {
    for (let round = 0; round < 500 && !isEnd(this.wf.workflow.state); round++) {
      const before = JSON.stringify([this.wf.standing, this.wf.story, this.wf.workflow])
      const [next] = this.#running()
      const lost = this.#lost()
      if (lost !== undefined) this.#ask({ kind: 'skip', node: lost })
      if (next && this.wf.rows.get(next.slot)?.id === next.id) this.wf.report([next.node, this.#ending(next)])
      if (this.wf.workflow.state === 'paused') this.#ask({ kind: 'resume' })
      this.check()
      expect(JSON.stringify([this.wf.standing, this.wf.story, this.wf.workflow]), 'it gets on').not.toBe(before)
    }
  }

  #ending(row: ActiveExecution): StepReport {
    const node = this.wf.graph.find(row.node)
    if (node === null) return threw({ action: 'pause' })
    return node.kind === 'each' ? { kind: 'items', items: ['0', '1', '2'] } : completed
  }

  /** A node that is gone from the code and not settled: one that waits for its items, or one that has failed. */
  #lost(): string | undefined {
    const open = [...this.wf.rows.values(), ...this.wf.history.map(({ execution }) => execution)]
    return open.find(({ node }) => this.wf.graph.find(node) === null && !this.isDone(node))?.node
  }
}

function pick<T>(all: readonly T[], index: number): T | undefined {
  return all.length === 0 ? undefined : all[index % all.length]
}

const anyActions = fc.array(anyAction, { maxLength: 25 })

it('every run of every graph comes to its end, with every node done once or left out', () => {
  fc.assert(
    fc.property(anyEdges, anyActions, (edges, actions) => {
      const run = new Run(edges, reports)
      for (const action of actions) run.act(action)
      run.bringToEnd()
      expect(run.wf.workflow.state).toBe('finished')
      const healed = run.wf.workflow.generation === run.wf.generation
      for (const { id } of healed ? run.wf.graph.nodes : []) expect(run.isDone(id), `${id} is done`).toBe(true)
    }),
    { numRuns: 200 },
  )
})

it('every workflow that is canceled or declared finished ends so, and leaves nothing behind', () => {
  const stopping = fc.oneof(
    fc.constant<Action>({ kind: 'cancel' }),
    fc.record({ kind: fc.constant('report' as const), which: anyIndex, what: anyIndex, together: fc.nat({ max: 3 }) }),
  )
  fc.assert(
    fc.property(anyEdges, anyActions, fc.array(stopping, { maxLength: 3 }), (edges, actions, last) => {
      const run = new Run(edges, [...reports, ...stops, ...stops])
      for (const action of [...actions, ...last]) run.act(action)
      run.bringToEnd()
      expect(['finished', 'canceled']).toContain(run.wf.workflow.state)
      expect(run.wf.rows.size).toBe(0)
    }),
    { numRuns: 200 },
  )
})
