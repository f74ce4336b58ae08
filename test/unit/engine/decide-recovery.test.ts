/** What becomes of work that nobody will report on. */
import { describe, expect, it } from 'vitest'
import { crashesAfter } from '../../../src/engine/crash-limit.ts'
import { decideStopTimer, decideTakeover } from '../../../src/engine/decide-recovery.ts'
import type { StepReport } from '../../../src/engine/step-report.ts'
import type { WorkflowFacts } from '../../../src/store/change.ts'
import type { ActiveExecution } from '../../../src/store/records.ts'
import { chain, decided, diamond, facts, finished, graphOf, halfway, planFor, row, stopTimer, threw } from './facts.ts'
import { PlayedWorkflow } from './played-workflow.ts'

const graph = chain('a', 'b')

const takeOver = (situation: WorkflowFacts, lost: ActiveExecution) =>
  decided(situation, draft => decideTakeover(draft, lost, planFor(graph)))
const fireTimer = (situation: WorkflowFacts) => decided(situation, draft => decideStopTimer(draft, planFor(graph)))

describe('a takeover', () => {
  it('ends the lost attempt and puts the next in its place in line, counting the crash and no failure', () => {
    const lost = row({ failures: 1, attempt: 2 })
    const change = takeOver(facts({ active: [lost] }), lost)
    expect(change.endings).toMatchObject([
      { state: 'failed', outcome: 'recovered', error: null, reason: 'worker worker was lost' },
    ])
    expect(change.replacements).toMatchObject([
      { node: 'a', attempt: 3, failures: 1, crashes: 1, state: 'scheduled', fence: 6, due: { at: lost.dueAt } },
    ])
    expect(change.update).toBeNull()
  })

  it('lets a resumable step go on from its last checkpoint', () => {
    const lost = row({ progress: halfway })
    const change = takeOver(facts({ active: [lost] }), lost)
    expect(change.endings).toMatchObject([{ outcome: 'recovered', execution: { progress: halfway } }])
    expect(change.replacements).toMatchObject([{ node: 'a', attempt: 2, state: 'scheduled', progress: halfway }])
  })

  it('leaves a paused workflow paused and holds the next attempt', () => {
    const lost = row()
    const change = takeOver(facts({ state: 'paused', pauseCause: 'request', active: [lost] }), lost)
    expect(change.replacements).toMatchObject([{ state: 'paused', attempt: 2 }])
    expect(change.update).toBeNull()
  })

  it('gives the step up at the third crash in a row: a dead letter, and the next attempt held', () => {
    const lost = row({ crashes: 2, startMark: 'turn' })
    const change = takeOver(facts({ active: [lost] }), lost)
    const message = expect.stringContaining('then requeue its dead letter.')
    const error = { className: 'CrashLimitError', message }
    expect(change.endings[0]).toMatchObject({ outcome: 'dead_lettered', error })
    expect(change.replacements).toMatchObject([{ node: 'a', attempt: 2, state: 'paused', crashes: 0 }])
    expect(change.letters.opened).toMatchObject([{ node: 'a', attempt: 1, reason: 'crash_limit' }])
    expect(change.update).toMatchObject({ state: 'dlq', openLetters: 1 })
  })

  it('at the third crash gives the step up also in a workflow that somebody has paused', () => {
    const lost = row({ crashes: 2, startMark: 'turn' })
    const change = takeOver(facts({ state: 'paused', pauseCause: 'request', active: [lost] }), lost)
    expect(change.update).toMatchObject({ state: 'dlq', openLetters: 1 })
    expect(change.replacements).toMatchObject([{ state: 'paused' }])
  })

  it('of a workflow that is being canceled ends it', () => {
    const lost = row()
    const change = takeOver(facts({ state: 'rolling_back', active: [lost, stopTimer] }), lost)
    expect(change.endings).toMatchObject([{ state: 'skipped', outcome: 'stopped', reason: 'worker worker was lost' }])
    expect(change.update?.state).toBe('canceled')
    expect(change.removals).toEqual([{ slot: '' }, { slot: '#stop' }])
  })

  it('of a timer lets it fire elsewhere', () => {
    const timer = { ...stopTimer, state: 'in_progress' as const, owner: 'worker', fence: 1 }
    const change = takeOver(facts({ state: 'rolling_back', active: [row(), timer] }), timer)
    expect(change.moves).toMatchObject([{ slot: '#stop', state: 'scheduled', fence: 2, due: null }])
    expect(change.endings).toEqual([])
  })
})

describe('a takeover in a graph', () => {
  const pausing = threw({ action: 'pause' })

  it('leaves alone what others run, and what a dead worker had of several branches goes on in each', () => {
    const wf = new PlayedWorkflow(diamond)
    wf.complete('a')
    wf.lose('b')
    expect(wf.standing).toBe('b scheduled, c scheduled')
    wf.lose('b', 'c')
    expect(wf.rowOf('b')).toMatchObject({ attempt: 3, slot: 'b' })
    expect(wf.rowOf('c')).toMatchObject({ attempt: 2, slot: 'c' })
    wf.complete('b', 'c')
    expect(wf.standing).toBe('d scheduled')
  })

  it('hashes the next attempt with the same parents', () => {
    const wf = new PlayedWorkflow(diamond)
    wf.complete('a')
    const before = wf.rowOf('b').ancestry
    wf.lose('b')
    expect(wf.rowOf('b').ancestry.parents).toEqual(before.parents)
    expect(wf.rowOf('b').ancestry.hash).not.toBe(before.hash)
  })

  it('that is the last one holds the others at once', () => {
    const wf = new PlayedWorkflow(diamond)
    wf.complete('a')
    wf.rows.set('b', { ...wf.begin('b'), crashes: 2, startMark: 'turn' })
    wf.lose('b')
    expect(wf.workflow).toMatchObject({ state: 'dlq', openLetters: 1 })
    expect(wf.standing).toBe('b paused, c paused')
  })

  it('does not change which node is named as the one that has failed first', () => {
    const wf = new PlayedWorkflow(diamond)
    wf.complete('a')
    wf.report(['c', pausing])
    wf.rows.set('b', { ...wf.begin('b'), crashes: 2, startMark: 'turn' })
    wf.lose('b')
    expect(wf.workflow).toMatchObject({ state: 'dlq', blockedBy: 'c' })
  })

  it('of a node that the code has renamed begins the next attempt under the new name', () => {
    const wf = new PlayedWorkflow(graphOf({ old: '', b: '' }))
    wf.begin('old')
    wf.deploy(graphOf({ now: '', b: '' }, {}, { old: 'now' }))
    wf.lose('old')
    expect(wf.rowOf('now')).toMatchObject({ attempt: 2, slot: 'now' })
  })
})

describe('a takeover of a step that is called once', () => {
  const once = (more: Partial<ActiveExecution>, reconciles = false) => {
    const called = graphOf({ a: '', b: 'a' }, { a: { once: { reconciles } } })
    const lost = row(more)
    return decided(facts({ active: [lost] }), draft => decideTakeover(draft, lost, planFor(called)))
  }

  it('before its call lets the same attempt go on, and counts the crash once at most while nothing says that its turn had come', () => {
    expect(once({ crashes: 0 }).moves).toMatchObject([{ state: 'scheduled', fence: 6, crashes: 1 }])
    expect(once({ crashes: 1 }).moves).toMatchObject([{ state: 'scheduled', crashes: 1 }])
    expect(once({ crashes: 1, startMark: 'turn' }).moves).toMatchObject([{ state: 'scheduled', crashes: 2 }])
    expect(once({ crashes: 1, startMark: 'turn' }).endings).toEqual([])
  })

  it('gives it up at the third crash in a row before its call', () => {
    const change = once({ crashes: 2, startMark: 'turn' })
    expect(change.endings).toMatchObject([{ outcome: 'dead_lettered', error: { className: 'CrashLimitError' } }])
    expect(change.letters.opened).toMatchObject([{ node: 'a', reason: 'crash_limit' }])
    expect(change.replacements).toMatchObject([{ node: 'a', attempt: 2, state: 'paused', crashes: 0 }])
    expect(change.update).toMatchObject({ state: 'dlq' })
  })

  it('in its call leaves it to a person, whether its turn was marked before or not', () => {
    const change = once({ crashes: 1, startMark: true })
    expect(change.endings).toMatchObject([{ outcome: 'unknown', reason: 'worker worker was lost in mid-call' }])
    expect(change.update).toMatchObject({ state: 'paused' })
  })

  it('in its call asks whether it happened, but not again and again where each call ends the process', () => {
    const asked = once({ crashes: 1, startMark: true }, true)
    expect(asked.replacements).toMatchObject([{ node: 'a', attempt: 2, state: 'scheduled', crashes: 2 }])
    const last = once({ crashes: 2, startMark: true }, true)
    expect(last.endings).toMatchObject([{ outcome: 'unknown' }])
    expect(last.update).toMatchObject({ state: 'paused' })
  })
})

describe('a step that is called once and whose worker shuts down', () => {
  const called = graphOf({ a: '', b: 'a' }, { a: { once: { reconciles: false } } })
  const givenBack = (startMark: ActiveExecution['startMark'], report: StepReport = { kind: 'released' }) => {
    const running = row({ crashes: 1, startMark })
    return finished(facts({ active: [running] }), running, report, { plan: planFor(called) }).change
  }

  it('is given back before its call, also when its turn had come or its worker knows that nothing was called', () => {
    for (const change of [givenBack(false), givenBack('turn'), givenBack(true, { kind: 'released', called: false })]) {
      expect(change.moves).toMatchObject([{ state: 'scheduled' }])
      expect(change.endings).toEqual([])
    }
    expect(givenBack(true).endings).toMatchObject([{ outcome: 'unknown' }])
  })
})

describe('the crashes of a step', () => {
  it.each([
    [0, false, 1],
    [1, false, 1],
    [2, false, 2],
    [0, true, 1],
    [1, true, 2],
    [2, true, 3],
    [1, 'turn', 2],
  ] as const)('after %i and with a start mark %s are %i', (crashes, startMark, after) => {
    expect(crashesAfter({ crashes, startMark })).toBe(after)
  })
})

describe('the timer of a cancel', () => {
  it('ends what still runs, and the workflow', () => {
    const timer = { ...stopTimer, state: 'in_progress' as const, owner: 'worker' }
    const change = fireTimer(facts({ state: 'rolling_back', active: [row(), timer] }))
    expect(change.endings).toMatchObject([{ state: 'skipped', outcome: 'stopped', reason: 'it did not stop in time' }])
    expect(change.update?.state).toBe('canceled')
    expect(new Set(change.removals.map(removal => removal.slot))).toEqual(new Set(['', '#stop']))
  })

  it('does nothing but go away when the workflow has come to another end', () => {
    const change = fireTimer(facts({ state: 'canceled', active: [stopTimer] }))
    expect(change.endings).toEqual([])
    expect(change.update).toBeNull()
    expect(change.removals).toEqual([{ slot: '#stop' }])
  })
})
