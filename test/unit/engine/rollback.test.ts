/** Undoing: what is compensated, in which order, how far back, and what becomes of the workflow. */
import { describe, expect, it } from 'vitest'
import type { GraphNode } from '../../../src/definition/graph.ts'
import { wakeNode } from '../../../src/engine/child-nodes.ts'
import { decideAbort, decideCancel, decideResolve } from '../../../src/engine/decide-request.ts'
import { markChild } from '../../../src/engine/stored-input.ts'
import { graphOf, threw } from './facts.ts'
import { PlayedWorkflow } from './played-workflow.ts'

const undo: Partial<GraphNode> = { compensation: { name: 'undo', afterFailure: true } }
const request = { by: 'ann', reason: 'no more' }
const fails = threw({ action: 'rollback' })
const cancel = (wf: PlayedWorkflow) => wf.ask((draft, plan) => decideCancel(draft, request, plan))

/** Undoes until nothing is left, and tells in which order. */
function undoAll(wf: PlayedWorkflow): string {
  const order: string[] = []
  while (wf.workflow.state === 'rolling_back') order.push(wf.undo())
  return order.join(' ')
}

describe('after a failure', () => {
  const saga = graphOf({ a: '', b: 'a', c: 'b', d: 'c' }, { a: undo, c: undo, d: undo })

  it('what has completed is undone, newest first and one at a time, the failed step before all', () => {
    const wf = new PlayedWorkflow(saga)
    for (const node of ['a', 'b', 'c']) wf.complete(node)
    wf.report(['d', fails])
    expect(wf.workflow.state).toBe('rolling_back')
    expect(wf.standing).toBe('d scheduled')
    expect(wf.story).toBe('a completed, b completed, c completed, d compensating')
    expect(undoAll(wf)).toBe('d c a')
    expect(wf.workflow.state).toBe('failed')
    expect(wf.attemptsAt('b')).toMatchObject([{ state: 'rolled_back', outcome: 'success' }])
    expect(wf.rows.size).toBe(0)
  })

  it('a failed step that has opted out is not undone', () => {
    const careful = graphOf({ a: '', d: 'a' }, { a: undo, d: { compensation: { name: 'x', afterFailure: false } } })
    const wf = new PlayedWorkflow(careful)
    wf.complete('a')
    wf.report(['d', fails])
    expect(undoAll(wf)).toBe('a')
    expect(wf.attemptsAt('d')).toMatchObject([{ state: 'rolled_back' }])
  })

  it('it goes back to the last save point and no further', () => {
    const saved = graphOf({ a: '', s: 'a', b: 's', c: 'b' }, { a: undo, s: { kind: 'savePoint' }, b: undo })
    const wf = new PlayedWorkflow(saved)
    wf.complete('a')
    wf.complete('b')
    wf.report(['c', fails])
    expect(undoAll(wf)).toBe('b')
    expect(wf.workflow.state).toBe('failed')
    expect(wf.story).toBe('a completed, s completed, b rolled_back, c rolled_back, undo b completed')
  })

  it('a workflow without a compensation is no saga: what it has done stays done', () => {
    const wf = new PlayedWorkflow(graphOf({ a: '', b: 'a' }))
    wf.complete('a')
    wf.report(['b', fails])
    expect(wf.workflow.state).toBe('failed')
    expect(wf.story).toBe('a completed, b failed')
  })

  it('what still runs is waited for, and undone if it completes all the same', () => {
    const wide = graphOf({ a: '', b: 'a', c: 'a' }, { a: undo, b: undo, c: undo })
    const wf = new PlayedWorkflow(wide)
    wf.complete('a')
    wf.begin('c')
    wf.report(['b', fails])
    expect(wf.workflow.state).toBe('rolling_back')
    expect(wf.standing).toBe('c in_progress')
    wf.complete('c')
    expect(undoAll(wf)).toBe('c b a')
    expect(wf.workflow.state).toBe('failed')
  })

  it('what had failed and was resolved by hand is undone once, also if that is given up', () => {
    for (const undone of [undefined, threw({ action: 'pause' })]) {
      const wf = new PlayedWorkflow(saga)
      wf.complete('a')
      wf.complete('b')
      wf.report(['c', threw({ action: 'pause' })])
      wf.ask((draft, plan) => decideResolve(draft, { node: 'c', output: null, request }, plan))
      wf.report(['d', fails])
      expect([wf.undo(), wf.undo(undone)]).toEqual(['d', 'c'])
      expect(undoAll(wf)).toBe('a')
    }
  })

  it('what was lost in mid-call may have happened, so it is undone', () => {
    const wide = graphOf({ a: '', b: 'a', c: 'a' }, { a: undo, b: undo, c: undo })
    const wf = new PlayedWorkflow(wide)
    wf.complete('a')
    wf.begin('c')
    wf.report(['b', fails])
    wf.lose('c')
    expect(undoAll(wf)).toBe('c b a')
  })
})

describe('a compensation', () => {
  const saga = graphOf({ a: '', b: 'a' }, { a: undo, b: undo })
  const broken = () => {
    const wf = new PlayedWorkflow(saga)
    wf.complete('a')
    wf.report(['b', fails])
    return wf
  }

  it('that throws is attempted again as its retries say', () => {
    const wf = broken()
    expect(wf.undo({ ...threw({ action: 'pause' }), retryMs: 2000 } as never)).toBe('b')
    expect(wf.standing).toBe('b scheduled')
    expect(undoAll(wf)).toBe('b a')
    expect(wf.workflow.state).toBe('failed')
  })

  it('that is given up leaves a dead letter, and the others go on', () => {
    const wf = broken()
    wf.undo(threw({ action: 'pause' }))
    expect(wf.attemptsAt('b')).toMatchObject([{ state: 'failed' }])
    expect(undoAll(wf)).toBe('a')
    expect(wf.workflow).toMatchObject({ state: 'failed', openLetters: 1 })
    expect(wf.attemptsAt('a')).toMatchObject([{ state: 'rolled_back' }])
  })

  it('whose worker dies begins again, and is given up after three deaths', () => {
    const wf = broken()
    for (let death = 1; death <= 3; death++) wf.loseUndo()
    expect(wf.workflow.openLetters).toBe(1)
    expect(undoAll(wf)).toBe('a')
    expect(wf.workflow.state).toBe('failed')
  })
})

describe('a cancel', () => {
  const saved = graphOf({ a: '', s: 'a', b: 's', c: 'b' }, { a: undo, s: { kind: 'savePoint' }, b: undo })

  it('undoes everything back to the start, past save points', () => {
    const wf = new PlayedWorkflow(saved)
    wf.complete('a')
    wf.complete('b')
    cancel(wf)
    expect(wf.workflow.state).toBe('rolling_back')
    expect(undoAll(wf)).toBe('b a')
    expect(wf.workflow.state).toBe('canceled')
    expect(wf.story).toBe('a rolled_back, s rolled_back, b rolled_back, c canceled, undo b completed, undo a completed')
  })

  it('during the rollback of a failure goes on to the start, and ends as canceled', () => {
    const wf = new PlayedWorkflow(saved)
    wf.complete('a')
    wf.complete('b')
    wf.report(['c', fails])
    cancel(wf)
    expect(undoAll(wf)).toBe('b a')
    expect(wf.workflow.state).toBe('canceled')
  })

  it('whose compensation is given up ends as failed', () => {
    const wf = new PlayedWorkflow(saved)
    wf.complete('a')
    cancel(wf)
    wf.undo(threw({ action: 'pause' }))
    expect(wf.workflow.state).toBe('failed')
  })

  it.each([
    ['threw', threw({ action: 'pause' }), 'a'],
    ['was given back in mid-call', { kind: 'released', called: true }, 'a'],
    ['was given back before its call', { kind: 'released', called: false }, ''],
    ['says that there was nothing to do', { kind: 'skip', by: 'flow_control', reason: null }, ''],
  ] as const)('undoes what may have happened of a step that %s while it was waited for', (_, report, undone) => {
    const wf = new PlayedWorkflow(saved)
    wf.begin('a')
    cancel(wf)
    wf.report(['a', report])
    expect(undoAll(wf)).toBe(undone)
    expect(wf.workflow.state).toBe('canceled')
    expect(wf.attemptsAt('a')).toMatchObject([{ outcome: 'stopped', state: undone === '' ? 'skipped' : 'rolled_back' }])
  })

  it('undoes an attempt that has failed, where the next one was stopped before its call', () => {
    const wf = new PlayedWorkflow(saved)
    wf.report(['a', { ...threw({ action: 'pause' }), retryMs: 0 } as never])
    wf.begin('a')
    cancel(wf)
    wf.report(['a', { kind: 'released', called: false }])
    expect(undoAll(wf)).toBe('a')
    expect(wf.attemptsAt('a')).toMatchObject([{ state: 'rolled_back' }, { state: 'skipped' }])
  })

  it.each([
    ['finished', true, 'a'],
    ['finished', false, 'a'],
    ['canceled', true, ''],
    ['canceled', false, ''],
  ] as const)(
    'undoes what a child has done that is %s when its node is stopped (woken before: %s)',
    (ended, first, undone) => {
      const wf = new PlayedWorkflow(graphOf({ a: '', b: 'a' }, { a: { ...undo, kind: 'child' } }))
      wf.begin('a')
      const begun = wf.rowOf('a')
      wf.ask(draft => draft.move(begun, 'waiting', { input: markChild({ workflowId: '9', isOwn: true }) }))
      if (!first) cancel(wf)
      wf.ask((draft, plan) => {
        const others = new Map([['9', { ...wf.workflow, id: '9', state: ended }]])
        const seen = Object.assign(draft, { facts: { ...draft.facts, others } })
        wakeNode(seen, plan, 'a', { id: '9', knownAs: '9' })
      })
      if (first) cancel(wf)
      expect(undoAll(wf)).toBe(undone)
      expect(wf.workflow.state).toBe('canceled')
      const { outcome, state } = wf.attemptsAt('a')[0] ?? {}
      expect([outcome, state]).toEqual(['stopped', undone === 'a' ? 'rolled_back' : first ? 'canceled' : 'skipped'])
    },
  )

  const again = { kind: 'reattempt', waitMs: 0, rewind: false, reason: null } as const
  const pause = { kind: 'pause', hold: false, reason: null } as const

  it.each([
    ['asked to be called again', [again], 'a'],
    ['asked for it twice', [again, again], 'a'],
    ['failed before that', [{ ...threw({ action: 'pause' }), retryMs: 0 }, again], 'a'],
    ['paused the workflow', [pause], 'a'],
    ['failed before that, and paused the workflow', [{ ...threw({ action: 'pause' }), retryMs: 0 }, pause], 'a'],
    ['said at last that there was nothing to do', [again, { kind: 'skip', by: 'flow_control', reason: null }], ''],
  ] as const)('undoes a step once that %s', (_, reports, undone) => {
    const wf = new PlayedWorkflow(saved)
    for (const report of reports) wf.report(['a', report as never])
    cancel(wf)
    expect(undoAll(wf)).toBe(undone)
    expect(wf.workflow.state).toBe('canceled')
    expect(wf.attemptsAt('a').filter(({ state }) => state === 'completed')).toEqual([])
  })

  it('by a step itself does not undo that step, whoever has paused the workflow before', () => {
    const wf = new PlayedWorkflow(graphOf({ a: '', b: '' }, { a: undo, b: undo }))
    wf.begin('b')
    wf.report(['a', pause as never])
    wf.report(['b', { kind: 'cancel', by: 'flow_control', reason: null }])
    expect(undoAll(wf)).toBe('a')
    expect(wf.attemptsAt('b')).toMatchObject([{ state: 'canceled' }])
  })

  it('of a saga that has done nothing ends it at once', () => {
    const wf = new PlayedWorkflow(saved)
    cancel(wf)
    expect(wf.workflow.state).toBe('canceled')
  })
})

describe('an abort', () => {
  const saga = graphOf({ a: '', b: 'a', c: 'a' }, { a: undo, b: undo })
  const abort = (wf: PlayedWorkflow) => wf.ask((draft, plan) => decideAbort(draft, request, plan))

  it('ends everything at once and undoes nothing', () => {
    const wf = new PlayedWorkflow(saga)
    wf.complete('a')
    wf.begin('b')
    abort(wf)
    expect(wf.workflow.state).toBe('aborted')
    expect(wf.story).toBe('a completed, b skipped, c canceled')
    expect(wf.rows.size).toBe(0)
  })

  it('cuts off a rollback, and says of what was being undone that it was not', () => {
    const wf = new PlayedWorkflow(saga)
    wf.complete('a')
    wf.complete('b')
    cancel(wf)
    wf.beginUndo()
    abort(wf)
    expect(wf.workflow.state).toBe('aborted')
    expect(wf.attemptsAt('b')).toMatchObject([{ state: 'failed', outcome: 'success' }])
    expect(wf.attemptsAt('a')).toMatchObject([{ state: 'completed' }])
  })
})
