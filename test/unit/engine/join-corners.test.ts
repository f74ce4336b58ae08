/** Corners of joins that random sagas have found, each in its smallest form. */
import { expect, it } from 'vitest'
import { Graph, type GraphNode, type JoinRule } from '../../../src/definition/graph.ts'
import { decideResume } from '../../../src/engine/decide-request.ts'
import type { StepReport } from '../../../src/engine/step-report.ts'
import type { StartOrder } from '../../../src/store/store.ts'
import { done, facts, finished, graphOf, planFor, rowOf, threw } from './facts.ts'
import { PlayedWorkflow } from './played-workflow.ts'

const request = { by: null, reason: null }
const fork: Partial<GraphNode> = { kind: 'fork' }
const undo: Partial<GraphNode> = { compensation: { name: 'undo', afterFailure: true } }
const join = (rule: JoinRule, ...branches: string[]): Partial<GraphNode> => ({
  kind: 'join',
  join: { rule, branches: branches.map(end => [end]) },
})
const skips: StepReport = { kind: 'skip', by: 'flow_control', reason: null }
const begun = (wf: PlayedWorkflow) => {
  wf.complete('f')
  return wf
}

it('a step that pauses its workflow in a branch of a settled join is attempted again, and waited for', () => {
  const wf = begun(
    new PlayedWorkflow(graphOf({ f: '', a: 'f', b: 'f', j: 'a b' }, { f: fork, j: join('settled', 'a', 'b') })),
  )
  wf.report(['a', { kind: 'pause', hold: false, reason: null }])
  wf.ask((draft, plan) => decideResume(draft, request, plan))
  expect(wf.standing).toContain('a scheduled')
  wf.complete('b')
  expect(wf.workflow.state).toBe('ready')
  wf.complete('a')
  expect(wf.workflow.state).toBe('finished')
})

it('a branch of forks alone decides a join of any before the others begin, and they never do', () => {
  const edges = { f: '', g: 'f', x: 'g', h: 'f', a: 'h', b: 'h', k: 'a b', j: 'g k', z: 'j' }
  const nodes = { f: fork, g: fork, h: fork, k: join('all', 'a', 'b'), j: join({ atLeast: 1 }, 'g', 'k') }
  const wf = begun(new PlayedWorkflow(graphOf(edges, nodes)))
  expect(wf.standing).toBe('x scheduled, z scheduled')
  expect(wf.attemptsAt('a')).toMatchObject([{ outcome: 'not_taken' }])
})

it.each([
  ['pause', 'paused'],
  ['rollback', 'failed'],
  ['cancel', 'canceled'],
  ['dlq', 'dlq'],
] as const)('a join that a skip has made impossible lets the waiting policy %s act', (action, state) => {
  const edges = { f: '', a: 'f', b: 'f', c: 'f', j: 'a b c' }
  const nodes = { f: fork, j: join({ atLeast: 2 }, 'a', 'b', 'c') }
  const wf = begun(new PlayedWorkflow(graphOf(edges, nodes)))
  wf.report(['a', threw({ action })])
  wf.report(['b', skips])
  if (wf.workflow.state === 'ready') wf.complete('c')
  expect(wf.workflow.state).toBe(state)
})

it('that policy undoes what a saga has done', () => {
  const edges = { f: '', a: 'f', b: 'f', c: 'f', j: 'a b c' }
  const nodes = { f: fork, c: undo, j: join({ atLeast: 2 }, 'a', 'b', 'c') }
  const wf = begun(new PlayedWorkflow(graphOf(edges, nodes)))
  wf.complete('c')
  wf.report(['a', threw({ action: 'rollback' })])
  wf.report(['b', skips])
  expect(wf.workflow.state).toBe('rolling_back')
  expect(wf.undo()).toBe('c')
  expect(wf.workflow.state).toBe('failed')
})

it('a settled join goes on when what was left of a branch with a failed step has ended', () => {
  const edges = { f: '', g: 'f', x: 'g', y: 'g', k: 'x y', c: 'f', j: 'k c', z: 'j' }
  const nodes = { f: fork, g: fork, k: join('all', 'x', 'y'), j: join('settled', 'k', 'c') }
  const wf = begun(new PlayedWorkflow(graphOf(edges, nodes)))
  wf.complete('c')
  wf.report(['x', threw({ action: 'pause' })])
  expect(wf.standing).toBe('y scheduled')
  wf.complete('y')
  expect(wf.standing).toBe('z scheduled')
})

it('a settled join goes on when a join inside of it is lost', () => {
  const edges = { f: '', g: 'f', x: 'g', y: 'g', k: 'x y', c: 'f', j: 'k c', z: 'j' }
  const nodes = { f: fork, g: fork, k: join({ atLeast: 1 }, 'x', 'y'), j: join('settled', 'k', 'c') }
  const wf = begun(new PlayedWorkflow(graphOf(edges, nodes)))
  wf.complete('c')
  wf.report(['x', threw({ action: 'pause' })])
  wf.report(['y', threw({ action: 'pause' })])
  expect(wf.standing).toBe('z scheduled')
})

it('a step that something besides the join depends on fails as if there were no join', () => {
  const edges = { f: '', a: 'f', side: 'a', c: 'f', j: 'a c' }
  const wf = begun(new PlayedWorkflow(graphOf(edges, { f: fork, j: join('settled', 'a', 'c') })))
  wf.report(['a', threw({ action: 'pause' })])
  wf.complete('c')
  expect(wf.workflow).toMatchObject({ state: 'paused', pauseCause: 'exception' })
  wf.ask((draft, plan) => decideResume(draft, request, plan))
  wf.complete('a')
  wf.complete('side')
  expect(wf.workflow.state).toBe('finished')
})

it('a workflow behind a failed step pauses when the last to run is one that a join did without', () => {
  const edges = { f: '', a: 'f', b: 'f', j: 'a b', z: 'j', c: '', both: 'z c' }
  const wf = new PlayedWorkflow(graphOf(edges, { f: fork, j: join({ atLeast: 1 }, 'a', 'b') }))
  wf.complete('f')
  wf.begin('b')
  wf.report(['c', threw({ action: 'pause' })])
  wf.complete('a')
  wf.complete('z')
  expect(wf.workflow.state).toBe('ready')
  wf.complete('b')
  expect(wf.workflow.state).toBe('paused')
})

it('a step that completes under code which has lost the last branch of a join rolls the saga back, and stays completed', () => {
  const edges = { enter: '', f: 'enter', a: 'f', c: 'f', ask: 'f', j: 'a c ask', z: 'j', beside: 'enter' }
  const nodes = { f: fork, enter: undo, ask: { kind: 'human' as const }, j: join({ atLeast: 1 }, 'a', 'c', 'ask') }
  const wf = new PlayedWorkflow(graphOf(edges, nodes))
  wf.complete('enter')
  wf.report(['ask', { kind: 'wait' }])
  wf.report(['a', threw({ action: 'rollback' })])
  wf.report(['c', threw({ action: 'pause' })])
  wf.begin('beside')
  const { ask: _, ...kept } = edges
  const { data } = graphOf({ ...kept, j: 'a c' }, { ...nodes, j: join({ atLeast: 1 }, 'a', 'c') })
  wf.deploy(new Graph({ ...data, onMissingStep: 'skip' }))
  wf.complete('beside')
  expect(wf.attemptsAt('beside')).toMatchObject([{ outcome: 'success' }])
  expect(wf.workflow.state).toBe('rolling_back')
  expect(wf.undo()).toBe('enter')
  expect(wf.workflow.state).toBe('failed')
})

it.each([
  ['rollback', 'failed'],
  ['cancel', 'canceled'],
] as const)(
  'the policy %s that has waited undoes a saga when a claim is given back to code whose join needs all',
  (action, state) => {
    const edges = { enter: '', f: 'enter', a: 'f', b: 'f', j: 'a b', beside: 'enter' }
    const nodes = (rule: JoinRule) => ({ f: fork, enter: undo, j: join(rule, 'a', 'b') })
    const wf = new PlayedWorkflow(graphOf(edges, nodes({ atLeast: 1 })))
    wf.complete('enter')
    wf.report(['a', threw({ action })])
    expect(wf.workflow.state).toBe('ready')
    wf.deploy(graphOf(edges, nodes('all')))
    wf.report(['beside', { kind: 'released', called: false }])
    expect(wf.workflow.state).toBe('rolling_back')
    expect(wf.undo()).toBe('enter')
    expect(wf.workflow.state).toBe(state)
  },
)

it('a child that was started while a join was decided without it is canceled', () => {
  const edges = { f: '', kid: 'f', b: 'f', j: 'kid b', z: 'j' }
  const graph = graphOf(edges, { f: fork, kid: { kind: 'child' }, j: join({ atLeast: 1 }, 'kid', 'b') })
  const running = rowOf('kid')
  const seen = facts({ active: [running, rowOf('z')], latest: done('f', 'b', 'j') })
  const order = { id: '55', type: 'Kid', hero: null } as unknown as StartOrder
  const started = new Map([['55', { kind: 'started', workflow: { ...seen.workflow, id: '55' } } as const]])
  const report: StepReport = { kind: 'child', order }
  const { change } = finished({ ...seen, started }, running, report, { plan: planFor(graph) })
  expect(change.endings).toMatchObject([{ state: 'canceled', outcome: 'superseded' }])
  expect(change.insertions).toMatchObject([
    { slot: '#cascade/55', node: 'kid', input: expect.stringContaining('"child":"55"') },
  ])
})
