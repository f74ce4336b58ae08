/** How a workflow with several branches comes to rest: paused, canceled or declared finished while others still run. */
import { describe, expect, it } from 'vitest'
import { decideStopTimer } from '../../../src/engine/decide-recovery.ts'
import { decideAbort, decideCancel, decidePause, decideResume, decideSkip } from '../../../src/engine/decide-request.ts'
import type { StepReport } from '../../../src/engine/step-report.ts'
import { markChild } from '../../../src/engine/stored-input.ts'
import { decided, endings, facts, finished, graphOf, halfway, idleRowOf, planFor, rowOf, threw } from './facts.ts'
import { PlayedWorkflow } from './played-workflow.ts'

const graph = graphOf({ a: '', b: '', c: '', d: 'a b c' })
const asked = { by: 'ann', reason: 'because' }
const finishing: StepReport = { kind: 'finish', output: '1', reason: null }
const canceling: StepReport = { kind: 'cancel', by: 'flow_control', reason: 'why' }
const pausing: StepReport = { kind: 'pause', hold: false, reason: 'why' }

/** Runs `a` and `b`; `c` waits. */
function underWay(): PlayedWorkflow {
  const wf = new PlayedWorkflow(graph)
  wf.begin('a')
  wf.begin('b')
  return wf
}

describe('a step that declares the workflow finished', () => {
  it('leaves out what waits, and waits for what runs', () => {
    const wf = underWay()
    wf.report(['a', finishing])
    expect(wf.workflow).toMatchObject({ state: 'ready', finishing: true })
    expect(wf.standing).toBe('b in_progress')
    expect(wf.history.map(({ execution, state, outcome }) => [execution.node, state, outcome])).toEqual([
      ['a', 'completed', 'success'],
      ['c', 'canceled', 'superseded'],
    ])
    wf.complete('b')
    expect(wf.workflow.state).toBe('finished')
    expect(wf.rows.size).toBe(0)
    expect(wf.counters.size).toBe(0)
  })

  it('takes with it a step that waits for its turn among items, is suspended, or is held', () => {
    const idle = ['scheduled', 'suspended', 'waiting', 'paused'] as const
    const rows = idle.map(state => idleRowOf(state, { state }))
    const situation = facts({ active: [rowOf('a'), ...rows] })
    const { change } = finished(situation, rowOf('a'), finishing, { plan: planFor(graph) })
    expect(endings(change).slice(1)).toEqual(idle.map(state => `${state} canceled superseded`))
    expect(change.update).toMatchObject({ state: 'finished', finishing: true })
  })

  it.each<[StepReport, string]>([
    [{ kind: 'completed', output: '1' }, 'b completed superseded'],
    [finishing, 'b completed superseded'],
    [{ kind: 'skip', by: 'condition', reason: null }, 'b canceled superseded'],
    [canceling, 'b canceled superseded'],
    [pausing, 'b canceled superseded'],
    [threw({ action: 'pause' }), 'b canceled superseded'],
    [threw({ action: 'reattempt' }), 'b canceled superseded'],
    [{ kind: 'suspend', waitMs: 0, reason: null }, 'b canceled superseded'],
    [{ kind: 'released' }, 'b canceled superseded'],
  ])('has the others end without a successor: %o', (report, expected) => {
    const situation = facts({ finishing: true, active: [rowOf('b')] })
    const { change, next } = finished(situation, rowOf('b'), report, { plan: planFor(graph) })
    expect(endings(change)).toEqual([expected])
    expect(next).toBeNull()
    expect(change.update?.state).toBe('finished')
  })

  it('waits for all of them', () => {
    const situation = facts({ finishing: true, active: [rowOf('b')], othersGoOn: true })
    const { change } = finished(situation, rowOf('b'), { kind: 'released' }, { plan: planFor(graph) })
    expect(change.update).toBeNull()
  })

  it('ends the last one that runs when its worker is lost', () => {
    const wf = underWay()
    wf.report(['a', finishing])
    wf.lose('b')
    expect(wf.attemptsAt('b')).toMatchObject([
      { state: 'canceled', outcome: 'superseded', reason: 'worker worker was lost' },
    ])
    expect(wf.workflow.state).toBe('finished')
  })

  it('cannot be paused, skipped into or resumed any more', () => {
    const wf = underWay()
    wf.report(['a', finishing])
    expect(() => wf.ask(draft => decidePause(draft, asked))).toThrow('cannot pause')
    expect(() => wf.ask((draft, plan) => decideSkip(draft, 'b', asked, plan))).toThrow('It is ending or has ended.')
    expect(() => wf.ask((draft, plan) => decideResume(draft, asked, plan))).toThrow('cannot resume')
  })

  it('can still be canceled, and is canceled then', () => {
    const wf = underWay()
    wf.report(['a', finishing])
    wf.ask((draft, plan) => decideCancel(draft, asked, plan))
    expect(wf.workflow.state).toBe('rolling_back')
    wf.complete('b')
    expect(wf.workflow.state).toBe('canceled')
  })

  it('in a paused workflow has its way when that is resumed', () => {
    const wf = underWay()
    wf.ask(draft => decidePause(draft, asked))
    wf.report(['a', finishing])
    expect(wf.workflow).toMatchObject({ state: 'paused', pauseCause: 'finishing' })
    expect(wf.standing).toBe('b in_progress, c paused')
    wf.ask((draft, plan) => decideResume(draft, asked, plan))
    expect(wf.workflow).toMatchObject({ state: 'ready', finishing: true })
    expect(wf.standing).toBe('b in_progress')
    wf.report(['b', threw({ action: 'pause' })])
    expect(wf.workflow.state).toBe('finished')
  })

  it('is over with the resume when nothing runs then', () => {
    const wf = underWay()
    wf.ask(draft => decidePause(draft, asked))
    wf.report(['a', finishing])
    wf.complete('b')
    expect(wf.workflow).toMatchObject({ state: 'paused', pauseCause: 'finishing' })
    wf.ask((draft, plan) => decideResume(draft, asked, plan))
    expect(wf.workflow.state).toBe('finished')
    expect(wf.rows.size).toBe(0)
  })

  it('begins nothing that a deploy has added meanwhile', () => {
    const wf = underWay()
    wf.deploy(graphOf({ a: '', b: '', c: '', d: 'a b c', e: '', f: 'a' }))
    wf.report(['a', finishing])
    expect(wf.standing).toBe('b in_progress')
    wf.complete('b')
    expect(wf.workflow.state).toBe('finished')
    expect(wf.story).toBe('a completed, c canceled, b completed')
  })
})

describe('a step that cancels the workflow', () => {
  it.each<[string, StepReport]>([
    ['by itself', canceling],
    ['by its policy', threw({ action: 'cancel' })],
  ])('%s ends what waits, tells what runs to stop, and sets a timer', (_, report) => {
    const wf = underWay()
    wf.report(['a', report])
    expect(wf.workflow.state).toBe('rolling_back')
    expect(wf.standing).toBe('b in_progress')
    expect(wf.rows.get('#stop')).toMatchObject({ kind: 'timer', queue: '' })
    expect(wf.attemptsAt('c')).toMatchObject([{ state: 'canceled', outcome: 'stopped' }])
    wf.complete('b')
    expect(wf.attemptsAt('b')).toMatchObject([{ state: 'completed', outcome: 'success' }])
    expect(wf.workflow.state).toBe('canceled')
    expect(wf.rows.size).toBe(0)
  })

  it('gives up on what does not stop in time', () => {
    const wf = underWay()
    wf.report(['a', canceling])
    wf.ask(decideStopTimer)
    expect(wf.attemptsAt('b')).toMatchObject([{ state: 'skipped', outcome: 'stopped' }])
    expect(wf.workflow.state).toBe('canceled')
    expect(wf.rows.size).toBe(0)
  })

  it('is done when the workers of the others are lost', () => {
    const wf = underWay()
    wf.report(['a', canceling])
    wf.lose('b')
    expect(wf.attemptsAt('b')).toMatchObject([{ state: 'skipped', outcome: 'stopped' }])
    expect(wf.workflow.state).toBe('canceled')
  })

  it('ends a step that has begun and does not run as skipped, and one that was never begun as canceled', () => {
    const rows = [
      idleRowOf('b', { state: 'suspended', progress: halfway }),
      idleRowOf('c', { state: 'waiting' }),
      idleRowOf('d', { state: 'paused', heldFrom: 'suspended' }),
      idleRowOf('e', { state: 'paused', heldFrom: 'scheduled' }),
      idleRowOf('f'),
    ]
    const situation = facts({ active: [rowOf('a'), ...rows] })
    const { change } = finished(situation, rowOf('a'), canceling, { plan: planFor(graph) })
    expect(endings(change)).toEqual([
      'a canceled canceled_by_flow_control',
      'b skipped stopped',
      'c skipped stopped',
      'd skipped stopped',
      'e canceled stopped',
      'f canceled stopped',
    ])
    expect(change.update?.state).toBe('canceled')
  })
})

describe('a step that pauses the workflow', () => {
  it('holds what waits; what runs records its result, and what follows is held', () => {
    const wf = underWay()
    wf.report(['a', pausing])
    expect(wf.workflow).toMatchObject({ state: 'paused', pauseCause: 'flow_control' })
    expect(wf.standing).toBe('b in_progress, c paused')
    wf.complete('b')
    expect(wf.counters).toEqual(new Map([['d', 2]]))
    wf.ask((draft, plan) => decideResume(draft, asked, plan))
    expect(wf.standing).toBe('c scheduled, a scheduled')
    wf.complete('a', 'c')
    expect(wf.standing).toBe('d scheduled')
  })

  it('leaves it to whoever had paused it', () => {
    const wf = underWay()
    wf.ask(draft => decidePause(draft, asked))
    wf.report(['a', pausing])
    expect(wf.workflow).toMatchObject({ state: 'paused', pauseCause: 'request' })
  })
})

describe('several steps that have failed', () => {
  it('get a new attempt each when the workflow is resumed', () => {
    const wf = underWay()
    wf.report(['a', threw({ action: 'pause' })], ['b', threw({ action: 'pause' })])
    expect(wf.workflow.state).toBe('ready')
    wf.complete('c')
    expect(wf.workflow).toMatchObject({ state: 'paused', blockedBy: 'a' })
    expect(wf.events.at(-1)).toBe('workflow.paused')
    wf.ask((draft, plan) => decideResume(draft, asked, plan))
    expect(wf.workflow).toMatchObject({ state: 'ready', pauseCause: null, blockedBy: null })
    expect(wf.standing).toBe('a scheduled, b scheduled')
    wf.complete('a', 'b')
    expect(wf.standing).toBe('d scheduled')
    wf.complete('d')
    expect(wf.workflow.state).toBe('finished')
  })

  it('are named as the reason where the last branch that ended had not failed itself', () => {
    const situation = facts({ blockedBy: 'b', active: [rowOf('a')], fanIns: { d: 3 } })
    const { change } = finished(situation, rowOf('a'), { kind: 'completed', output: null }, { plan: planFor(graph) })
    expect(change.events.at(-1)).toMatchObject({ type: 'workflow.paused', reason: 'step b has failed' })
  })
})

describe('a child that nobody has come to stop yet', () => {
  const waiting = idleRowOf('b', { state: 'waiting', input: markChild({ workflowId: '56', isOwn: true }) })
  const timer = (child: string, state: 'scheduled' | 'in_progress') =>
    idleRowOf('b', { slot: `#cascade/${child}`, kind: 'timer', state, input: JSON.stringify({ child, how: 'cancel' }) })

  it('is stopped all the same when the workflow is canceled that was about to be finished', () => {
    const seen = facts({ finishing: true, latest: [], active: [waiting, timer('56', 'scheduled')] })
    const change = decided(seen, draft => decideCancel(draft, asked, planFor(graph)))
    expect(change.update?.state).toBe('rolling_back')
    expect(change.replacements).toMatchObject([{ slot: '#cascade/56', kind: 'timer' }])
    expect(change.removals).toEqual([])
  })

  it('is aborted where it was to be canceled, also by a worker that is at it', () => {
    const seen = facts({ state: 'rolling_back', latest: [], active: [waiting, timer('56', 'in_progress')] })
    const change = decided(seen, draft => decideAbort(draft, asked, planFor(graph)))
    expect(change.update?.state).toBe('aborted')
    expect(change.replacements).toMatchObject([{ slot: '#cascade/56', input: expect.stringContaining('"abort"') }])
  })

  it('has a timer of its own beside that of the child before it', () => {
    const seen = facts({ latest: [], active: [waiting, timer('55', 'in_progress')] })
    const change = decided(seen, draft => decideCancel(draft, asked, planFor(graph)))
    expect(change.insertions).toMatchObject([{ slot: '#cascade/56', input: expect.stringContaining('"child":"56"') }])
    expect([...change.removals, ...change.replacements]).toEqual([])
  })

  it.each(['scheduled', 'in_progress'] as const)('keeps its timer after the workflow has ended: %s', state => {
    const seen = facts({ finishing: true, active: [rowOf('a'), timer('55', state)] })
    const { change } = finished(seen, rowOf('a'), finishing, { plan: planFor(graph) })
    expect(change.update?.state).toBe('finished')
    expect(change.removals).toEqual([{ slot: 'a' }])
  })
})
