/** What becomes of a workflow when a step ends: every report, in every state of the workflow. */
import { describe, expect, it } from 'vitest'
import type { StepReport } from '../../../src/engine/step-report.ts'
import {
  type ActiveExecution,
  noProgress,
  type PauseCause,
  type StoredWorkflowState,
} from '../../../src/store/records.ts'
import {
  begun,
  chain,
  completed,
  endings,
  error,
  facts,
  finished,
  graphOf,
  halfway,
  planFor,
  row,
  stopTimer,
  threw,
} from './facts.ts'

const graph = chain('a', 'b')

function finish(report: StepReport, more: Partial<ActiveExecution> = {}, state: StoredWorkflowState = 'ready') {
  const running = row(more)
  const pauseCause: PauseCause | null = state === 'paused' ? 'request' : null
  return finished(facts({ state, pauseCause, active: [running] }), running, report, { plan: planFor(graph) })
}

describe('a step that completed', () => {
  it('is followed by the next one, in the same slot, with a fresh fence and counters', () => {
    const { change, next: following } = finish(completed, { failures: 2, crashes: 1 })
    expect(endings(change)).toEqual(['a completed success'])
    expect(change.endings[0]?.output).toBe('"x"')
    expect(change.insertions).toEqual([])
    expect(change.replacements).toMatchObject([
      {
        id: '90',
        node: 'b',
        attempt: 1,
        ordinal: 2,
        fence: 6,
        failures: 0,
        crashes: 0,
        generation: 3,
        state: 'scheduled',
        owner: null,
        due: { inMs: 0 },
      },
    ])
    expect(following).toBeNull()
    expect(change.update).toBeNull()
    expect(change.events.map(event => event.type)).toEqual(['step.completed', 'step.scheduled'])
  })

  it('ends the workflow when it is the last', () => {
    const { change, next: following } = finish(completed, { node: 'b' })
    expect(following).toBeNull()
    expect(change.update).toMatchObject({ state: 'finished', pauseCause: null })
    expect(change.removals).toEqual([{ slot: '' }])
    expect(change.events.map(event => event.type)).toEqual(['step.completed', 'workflow.finished'])
  })

  it('has its successor held while the workflow is paused', () => {
    const { change } = finish(completed, {}, 'paused')
    expect(begun(change)).toEqual(['b 1 paused'])
    expect(change.events.map(event => event.type)).toEqual(['step.completed', 'step.held'])
  })

  it('leaves a paused workflow paused at its end', () => {
    const { change } = finish(completed, { node: 'b' }, 'paused')
    expect(change.update).toBeNull()
    expect(begun(change)).toEqual([])
  })
})

describe('the next step runs on in the same worker', () => {
  const running = row()
  const runOn = { workerId: 'worker', serves: (queue: string) => queue === 'default' }

  it('when that worker serves its queue', () => {
    const situation = facts({ active: [running] })
    const { change, next } = finished(situation, running, completed, { plan: planFor(graph), runOn })
    expect(change.replacements).toMatchObject([{ node: 'b', state: 'in_progress', owner: 'worker' }])
    expect(change.replacements).toEqual([next])
    expect(change.events.at(-1)).toMatchObject({ type: 'step.started', to: 'in_progress' })
  })

  it('but not from another queue', () => {
    const elsewhere = { ...runOn, serves: () => false }
    const { change } = finished(facts({ active: [running] }), running, completed, {
      plan: planFor(graph),
      runOn: elsewhere,
    })
    expect(change.replacements).toMatchObject([{ state: 'scheduled', owner: null }])
  })

  it('but not when it has to wait', () => {
    const slow = graphOf({ a: '', b: 'a' }, { b: { waitMs: 5 } })
    const { change } = finished(facts({ active: [running] }), running, completed, { plan: planFor(slow), runOn })
    expect(change.replacements).toMatchObject([{ state: 'scheduled', due: { inMs: 5 } }])
  })

  it('but not when the workflow is paused', () => {
    const situation = facts({ state: 'paused', pauseCause: 'request', active: [running] })
    const { change } = finished(situation, running, completed, { plan: planFor(graph), runOn })
    expect(change.replacements).toMatchObject([{ state: 'paused', owner: null }])
  })
})

describe('flow control', () => {
  it.each(['condition', 'flow_control'] as const)('skips by %s', by => {
    const { change } = finish({ kind: 'skip', by, reason: 'why' })
    expect(endings(change)).toEqual([`a skipped skipped_by_${by}`])
    expect(change.endings[0]?.reason).toBe('why')
    expect(begun(change)).toEqual(['b 1 scheduled'])
  })

  it('reattempts after its wait, with all counters at zero', () => {
    const report: StepReport = { kind: 'reattempt', waitMs: 700, rewind: false, reason: null }
    const { change } = finish(report, { failures: 2, crashes: 2, attempt: 4 })
    expect(endings(change)).toEqual(['a completed reattempted'])
    expect(change.replacements).toMatchObject([{ node: 'a', attempt: 5, failures: 0, crashes: 0, due: { inMs: 700 } }])
  })

  it('finishes the workflow with a result', () => {
    const { change } = finish({ kind: 'finish', output: '1', reason: null })
    expect(endings(change)).toEqual(['a completed success'])
    expect(change.endings[0]?.output).toBe('1')
    expect(change.update?.state).toBe('finished')
    expect(begun(change)).toEqual([])
  })

  it('finishes a paused workflow only once it is resumed', () => {
    const { change } = finish({ kind: 'finish', output: '1', reason: null }, {}, 'paused')
    expect(change.update).toMatchObject({ state: 'paused', pauseCause: 'finishing' })
  })

  it.each(['ready', 'paused'] as const)('cancels a workflow that is %s', state => {
    const { change } = finish({ kind: 'cancel', by: 'flow_control', reason: 'why' }, {}, state)
    expect(endings(change)).toEqual(['a canceled canceled_by_flow_control'])
    expect(change.update?.state).toBe('canceled')
    expect(change.events.at(-1)).toMatchObject({ type: 'workflow.canceled', from: state, reason: 'why' })
  })

  it('pauses the workflow, or leaves it paused by whoever paused it', () => {
    const report: StepReport = { kind: 'pause', hold: false, reason: 'why' }
    expect(finish(report).change.update).toMatchObject({ state: 'paused', pauseCause: 'flow_control' })
    expect(finish(report, {}, 'paused').change.update).toBeNull()
    expect(endings(finish(report).change)).toEqual(['a canceled canceled_by_flow_control'])
  })
})

describe('a step that threw', () => {
  it('pauses the workflow, or leaves it paused by whoever paused it', () => {
    const { change } = finish(threw({ action: 'pause' }))
    expect(change.endings).toMatchObject([{ state: 'failed', outcome: 'paused_by_exception', error }])
    expect(change.update).toMatchObject({ state: 'paused', pauseCause: 'exception' })
    const whilePaused = finish(threw({ action: 'pause' }), {}, 'paused').change.update
    expect(whilePaused).toMatchObject({ state: 'paused', pauseCause: 'request', blockedBy: 'a' })
  })

  it('cancels the workflow, also while it is paused', () => {
    const { change } = finish(threw({ action: 'cancel' }), {}, 'paused')
    expect(change.endings).toMatchObject([{ state: 'failed', outcome: 'canceled_by_exception', error }])
    expect(change.update?.state).toBe('canceled')
  })

  it('is skipped, with its error', () => {
    const { change } = finish(threw({ action: 'skip' }))
    expect(change.endings).toMatchObject([{ state: 'skipped', outcome: 'skipped_by_exception', error }])
    expect(begun(change)).toEqual(['b 1 scheduled'])
  })

  it('is reattempted after the wait, and its failures are counted', () => {
    const { change } = finish(threw({ action: 'reattempt', waitMs: 50, limit: 3 }), { failures: 1, crashes: 2 })
    expect(change.endings).toMatchObject([{ state: 'failed', outcome: 'reattempted_by_exception', error }])
    expect(change.replacements).toMatchObject([{ node: 'a', attempt: 2, failures: 2, crashes: 0, due: { inMs: 50 } }])
  })

  it('is tried again by its own retries before its policy is asked', () => {
    const report = { ...threw({ action: 'cancel' }), retryMs: 250 } as StepReport
    const { change } = finish(report, { failures: 1, crashes: 2 })
    expect(endings(change)).toEqual(['a failed reattempted_by_exception'])
    expect(change.endings[0]?.error).toEqual(error)
    expect(change.replacements).toMatchObject([{ node: 'a', attempt: 2, failures: 2, crashes: 0, due: { inMs: 250 } }])
    expect(change.update).toBeNull()
  })

  it('is reattempted without end where no limit is set', () => {
    expect(begun(finish(threw({ action: 'reattempt' }), { failures: 9999 }).change)).toEqual(['a 2 scheduled'])
  })

  it.each([
    ['pause', 'failed', 'paused_by_exception', 'paused'],
    ['cancel', 'failed', 'canceled_by_exception', 'canceled'],
    ['skip', 'skipped', 'skipped_by_exception', undefined],
  ] as const)('gives way to `then: %s` once its limit is used up', (then, state, outcome, workflow) => {
    const last = finish(threw({ action: 'reattempt', limit: 2, then }), { failures: 1 })
    expect(begun(last.change)).toEqual(['a 2 scheduled'])
    const over = finish(threw({ action: 'reattempt', limit: 2, then }), { failures: 2 })
    expect(endings(over.change)).toEqual([`a ${state} ${outcome}`])
    expect(over.change.update?.state).toBe(workflow)
  })
})

describe('a step that is given back', () => {
  const released: StepReport = { kind: 'released' }

  it('stands in line again, the same row with a new fence', () => {
    const { change } = finish(released)
    expect(change.moves).toEqual([
      { slot: '', state: 'scheduled', fence: 6, heldFrom: null, progress: null, due: null, input: null },
    ])
    expect(change.endings).toEqual([])
  })

  it('is held when its workflow is paused', () => {
    expect(finish(released, {}, 'paused').change.moves).toEqual([
      { slot: '', state: 'paused', fence: 6, heldFrom: 'scheduled', progress: null, due: null, input: null },
    ])
  })
})

describe('a claim that is given back', () => {
  const claimed = { progress: { ...halfway, runs: 3 } }

  it('before the code was called is no run', () => {
    const { change } = finish({ kind: 'released', called: false }, claimed)
    expect(change.moves).toMatchObject([{ state: 'scheduled', progress: null, runs: 2 }])
  })

  it('in mid-call, or by a worker that does not say, is one', () => {
    for (const report of [{ kind: 'released', called: true } as const, { kind: 'released' } as const])
      expect(finish(report, claimed).change.moves).toEqual([expect.not.objectContaining({ runs: expect.anything() })])
  })
})

describe('a resumable step that stops between two items', () => {
  const stopped: StepReport = { kind: 'suspend', waitMs: 500, reason: 'yielded' }

  it('stays the same row and attempt, with its progress and a new fence, and is due after its wait', () => {
    const { change, next: following } = finish(stopped, { progress: halfway })
    expect(change.moves).toEqual([
      { slot: '', state: 'suspended', fence: 6, heldFrom: null, progress: halfway, due: { inMs: 500 }, input: null },
    ])
    expect(change).toMatchObject({ endings: [], replacements: [], insertions: [], removals: [], update: null })
    expect(change.events).toMatchObject([{ type: 'step.suspended', from: 'in_progress', reason: 'yielded' }])
    expect(following).toBeNull()
  })

  it('is held when its workflow is paused, to be suspended again', () => {
    const { change } = finish(stopped, { progress: halfway }, 'paused')
    expect(change.moves).toMatchObject([{ state: 'paused', heldFrom: 'suspended', progress: halfway }])
    expect(change.update).toBeNull()
  })

  it('is held when it pauses the workflow itself', () => {
    const report: StepReport = { kind: 'pause', hold: true, reason: 'why' }
    const { change } = finish(report, { progress: halfway })
    expect(change.moves).toEqual([
      { slot: '', state: 'paused', fence: 6, heldFrom: 'suspended', progress: halfway, due: { inMs: 0 }, input: null },
    ])
    expect(change.endings).toEqual([])
    expect(change.update).toMatchObject({ state: 'paused', pauseCause: 'flow_control' })
    expect(finish(report, {}, 'paused').change.update).toBeNull()
  })
})

describe('the next attempt at a resumable step', () => {
  it.each([
    [{ kind: 'reattempt', waitMs: 0, rewind: false, reason: null }, halfway],
    [{ kind: 'reattempt', waitMs: 0, rewind: true, reason: null }, noProgress],
    [threw({ action: 'reattempt' }), halfway],
  ] as const)('after %o goes on from there', (report, progress) => {
    const { change } = finish(report, { progress: halfway })
    expect(change.endings).toMatchObject([{ execution: { progress: halfway } }])
    expect(change.replacements).toMatchObject([{ node: 'a', attempt: 2, progress }])
  })
})

describe('while the workflow is being canceled', () => {
  const reports: readonly (readonly [StepReport, string, string])[] = [
    [completed, 'completed', 'success'],
    [{ kind: 'finish', output: '1', reason: null }, 'completed', 'success'],
    [{ kind: 'skip', by: 'condition', reason: null }, 'skipped', 'stopped'],
    [{ kind: 'cancel', by: 'condition', reason: null }, 'skipped', 'stopped'],
    [{ kind: 'pause', hold: false, reason: null }, 'skipped', 'stopped'],
    [{ kind: 'pause', hold: true, reason: null }, 'skipped', 'stopped'],
    [{ kind: 'suspend', waitMs: 0, reason: null }, 'skipped', 'stopped'],
    [{ kind: 'reattempt', waitMs: 0, rewind: false, reason: null }, 'skipped', 'stopped'],
    [threw({ action: 'reattempt' }), 'skipped', 'stopped'],
    [{ kind: 'released' }, 'skipped', 'stopped'],
  ]

  it.each(reports)('a step that reports %o ends it', (report, state, outcome) => {
    const running = row()
    const situation = facts({ state: 'rolling_back', active: [running, stopTimer] })
    const { change, next: following } = finished(situation, running, report, { plan: planFor(graph) })
    expect(endings(change)).toEqual([`a ${state} ${outcome}`])
    expect(following).toBeNull()
    expect(change.update?.state).toBe('canceled')
    expect(change.removals).toEqual([{ slot: '' }, { slot: '#stop' }])
  })

  it('keeps the error of a step that threw', () => {
    const running = row()
    const situation = facts({ state: 'rolling_back', active: [running] })
    const { change } = finished(situation, running, threw({ action: 'pause' }), { plan: planFor(graph) })
    expect(change.endings[0]?.error).toEqual(error)
  })

  it('waits for the others that still run', () => {
    const running = row()
    const situation = facts({ state: 'rolling_back', active: [running, row({ id: '10', slot: 'b' }), stopTimer] })
    const { change } = finished(situation, running, completed, { plan: planFor(graph) })
    expect(change.update).toBeNull()
    expect(change.removals).toEqual([{ slot: '' }])
  })
})
