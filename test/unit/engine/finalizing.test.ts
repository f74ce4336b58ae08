/** The decision table of finalizing: every row, every situation, and the same answer that the engine gives. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ChangeDraft } from '../../../src/engine/change-draft.ts'
import { decidePause, decideResolve, decideResume, decideSkip } from '../../../src/engine/decide-request.ts'
import {
  decideFinalizing,
  type FinalizingSituation,
  finalizingTable,
  situationOf,
} from '../../../src/engine/finalizing.ts'
import type { StepReport } from '../../../src/engine/step-report.ts'
import { pauseIfStuck } from '../../../src/engine/wind-down.ts'
import { isGenevaError } from '../../../src/errors.ts'
import type { WorkflowStanding } from '../../../src/store/readiness-facts.ts'
import type { ActiveExecution } from '../../../src/store/records.ts'
import { completed, facts, graphOf, latest, rowOf, threw } from './facts.ts'
import { PlayedWorkflow } from './played-workflow.ts'
import { endOf, minute, noon, readiness, standingOf } from './standings.ts'

const nothing: FinalizingSituation = { open: 0, ready: 0, processing: 0, later: 0, failed: 0 }

describe('the table', () => {
  it.each([
    ['all_complete', 'end', {}],
    ['has_ready_steps', 'go_on', { open: 4, ready: 1, processing: 1, later: 1, failed: 1 }],
    ['processing', 'go_on', { open: 3, processing: 1, later: 1, failed: 1 }],
    ['waiting_for_dependencies', 'wait', { open: 2, later: 1, failed: 1 }],
    ['blocked_by_failures', 'pause', { open: 1, failed: 1 }],
    ['waiting_for_dependencies', 'wait', { open: 1 }],
  ] as const)('decides %s, so: %s', (decision, effect, more) => {
    expect(decideFinalizing({ ...nothing, ...more })).toMatchObject({ decision, effect })
  })

  it('has a row for every situation, and a situation for every row', () => {
    const counts = [0, 1, 2]
    const used = new Set(
      counts.flatMap(open =>
        counts.flatMap(ready =>
          counts.flatMap(processing =>
            counts.flatMap(later => counts.map(failed => decideFinalizing({ open, ready, processing, later, failed }))),
          ),
        ),
      ),
    )
    expect([...used].toSorted(byPlace)).toEqual(finalizingTable)
  })

  it('never calls a workflow blocked by an error that is tried again', () => {
    const active = [rowOf('a', { state: 'scheduled', owner: null, dueAt: noon + minute, failures: 2 })]
    const nodes = readiness(standingOf({ active, latest: [endOf('a')] }), graphOf({ a: '', b: 'a' }))
    expect(decideFinalizing(situationOf(nodes)).decision).toBe('waiting_for_dependencies')
  })

  it('makes no difference between work that a live worker can do and work that waits for one', () => {
    const active = [rowOf('a', { state: 'scheduled', owner: null })]
    const nodes = readiness(standingOf({ active }), graphOf({ a: '' }), { workers: [] })
    expect(decideFinalizing(situationOf(nodes)).decision).toBe('has_ready_steps')
  })
})

function byPlace(a: (typeof finalizingTable)[number], b: (typeof finalizingTable)[number]): number {
  return finalizingTable.indexOf(a) - finalizingTable.indexOf(b)
}

describe('the engine', () => {
  const names = ['a', 'b', 'c', 'd', 'e']
  const anyState = fc.constantFrom<ActiveExecution['state'] | 'failed' | 'none'>(
    ...(['scheduled', 'in_progress', 'suspended', 'waiting', 'failed', 'none'] as const),
  )

  it('pauses a workflow that is stuck in exactly the situations that the table calls blocked', () => {
    const anyNodes = fc.array(fc.record({ state: anyState, isDue: fc.boolean() }), { minLength: 5, maxLength: 5 })
    fc.assert(
      fc.property(anyNodes, given => {
        const stands = given.map(({ state, isDue }, index) => ({ node: names[index] ?? '', state, isDue }))
        const active = stands.flatMap(({ node, state, isDue }) =>
          state === 'failed' || state === 'none' ? [] : rowOf(node, { state, dueAt: isDue ? noon : noon + minute }),
        )
        const failed = stands.filter(({ state }) => state === 'failed').map(({ node }) => node)
        const blockedBy = failed[0] ?? null
        const draft = new ChangeDraft(facts({ active, blockedBy, latest: failed.map(node => latest({ node })) }))
        pauseIfStuck(draft)
        const standing = standingOf({ active, latest: failed.map(node => endOf(node)) })
        const graph = graphOf({ a: '', b: '', c: '', d: '', e: '', z: 'a b c d e' })
        const { effect } = decideFinalizing(situationOf(readiness(standing, graph)))
        expect(draft.state).toBe(effect === 'pause' ? 'paused' : 'ready')
      }),
      { numRuns: 150 },
    )
  })

  it('ends, goes on and pauses through random runs of random graphs as the table says', () => {
    fc.assert(
      fc.property(anyEdges, fc.array(anyAction, { maxLength: 40 }), (edges, actions) => {
        const wf = new PlayedWorkflow(graphOf(edges))
        agree(wf)
        for (const action of actions) {
          act(wf, action)
          agree(wf)
        }
      }),
      { numRuns: 80 },
    )
  })

  const anyEdges = fc
    .array(fc.tuple(fc.nat({ max: 31 }), fc.nat({ max: 31 })), { minLength: 1, maxLength: names.length })
    .map(masks =>
      Object.fromEntries(
        masks.map(([mask, sparse], index) => [
          names[index] ?? '',
          names
            .slice(0, index)
            .filter((_, i) => ((mask & sparse) >> i) & 1)
            .join(' '),
        ]),
      ),
    )
})

type Action = { readonly kind: 'report' | 'begin' | 'ask'; readonly which: number; readonly what: number }

const anyAction: fc.Arbitrary<Action> = fc.record({
  kind: fc.constantFrom('report' as const, 'report' as const, 'report' as const, 'begin' as const, 'ask' as const),
  which: fc.nat({ max: 10 }),
  what: fc.nat({ max: 20 }),
})

const reports: readonly StepReport[] = [
  completed,
  completed,
  { kind: 'skip', by: 'condition', reason: null },
  threw({ action: 'pause' }),
  threw({ action: 'reattempt', waitMs: 60_000 }),
  { ...threw({ action: 'pause' }), retryMs: 0 } as StepReport,
  { kind: 'suspend', waitMs: 60_000, reason: null },
]

function act(wf: PlayedWorkflow, { kind, which, what }: Action): void {
  if (kind === 'ask') ask(wf, which, what)
  const open = [...wf.rows.values()].filter(({ state }) =>
    wf.workflow.state === 'ready' ? state !== 'waiting' : state === 'in_progress',
  )
  const node = open[which % Math.max(open.length, 1)]?.node
  if (node === undefined || kind === 'ask') return
  if (kind === 'begin') wf.begin(node)
  else wf.report([node, reports[what % reports.length] ?? completed])
}

function ask(wf: PlayedWorkflow, which: number, what: number): void {
  const request = { by: 'ann', reason: null }
  const node = wf.history[which % Math.max(wf.history.length, 1)]?.execution.node ?? 'a'
  try {
    wf.ask((draft, plan) => {
      if (what % 4 === 0) decidePause(draft, request)
      if (what % 4 === 1) decideResume(draft, request, plan)
      if (what % 4 === 2) decideSkip(draft, node, request, plan)
      if (what % 4 === 3) decideResolve(draft, { node, request, output: null }, plan)
    })
  } catch (error) {
    if (!isGenevaError(error, 'INVALID_STATE')) throw error
  }
}

/** A workflow that somebody keeps paused is not ended or moved on, whatever its nodes come to. */
function agree(wf: PlayedWorkflow): void {
  const { effect } = decideFinalizing(situationOf(readiness(standingIn(wf), wf.graph, { now: 1000 })))
  const { state, pauseCause } = wf.workflow
  const told = `${state} ${pauseCause}: ${wf.standing}; ${wf.story}`
  if (state === 'ready') expect(['go_on', 'wait'], told).toContain(effect)
  if (state === 'finished') expect(effect, told).toBe('end')
  if (state === 'paused' && pauseCause === 'exception') expect(effect, told).toBe('pause')
  if (effect === 'end') expect(['finished', 'paused'], told).toContain(state)
  if (effect === 'pause') expect(state, told).toBe('paused')
}

function standingIn({ workflow, rows, history, counters }: PlayedWorkflow): WorkflowStanding {
  return standingOf({
    workflow,
    active: [...rows.values()],
    fanIns: Object.fromEntries(counters),
    latest: history.map(({ execution, state, outcome, error, reason }) =>
      endOf(execution.node, { attempt: execution.attempt, state, outcome, error, reason }),
    ),
  })
}
