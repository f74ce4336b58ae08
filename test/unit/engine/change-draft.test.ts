/** The draft of a change: refuses what the tables do not allow, and sorts rows into those that move on and those that are new. */
import { describe, expect, it } from 'vitest'
import { ChangeDraft } from '../../../src/engine/change-draft.ts'
import { advance, repeat } from '../../../src/engine/schedule.ts'
import { noProgress } from '../../../src/store/records.ts'
import { chain, facts, halfway, planFor, row, suspended } from './facts.ts'

const plan = planFor(chain('a', 'b'))

describe('a draft', () => {
  it('that nothing was asked of changes nothing', () => {
    expect(new ChangeDraft(facts({ active: [row()] })).build()).toEqual({
      workflowId: '7',
      state: null,
      endings: [],
      replacements: [],
      insertions: [],
      removals: [],
      moves: [],
      events: [],
    })
  })

  it('refuses to end a row in a way that its state does not allow', () => {
    const draft = new ChangeDraft(facts({}))
    const idle = row({ state: 'scheduled' })
    expect(() => draft.end(idle, 'completed', 'success')).toThrow('Execution 8 cannot go from scheduled to completed.')
    expect(draft.build().endings).toEqual([])
  })

  it('refuses to insert an attempt that has completed out of nothing', () => {
    const draft = new ChangeDraft(facts({}))
    const ended = { ...row(), startedAt: null, owner: null }
    expect(() => draft.insertEnded(ended, 'completed', 'success')).toThrow('cannot go from new to completed')
  })

  it('refuses to move a workflow out of its end', () => {
    const draft = new ChangeDraft(facts({ state: 'finished' }))
    expect(() => draft.moveWorkflow('ready')).toThrow('Workflow 7 cannot go from finished to ready.')
  })

  it('sees its own change of the workflow', () => {
    const draft = new ChangeDraft(facts({ state: 'paused' }))
    draft.moveWorkflow('ready')
    expect(draft.state).toBe('ready')
    expect(() => draft.moveWorkflow('ready')).toThrow('from ready to ready')
  })

  it('gives a new fence to what it takes from a worker, and none to what is idle', () => {
    const draft = new ChangeDraft(facts({}))
    draft.move(row({ fence: 5 }), 'scheduled')
    draft.move(row({ fence: 5, state: 'paused' }), 'scheduled')
    expect(draft.build().moves.map(move => move.fence)).toEqual([6, 5])
  })

  it('says of each move what it is: suspended, held, let go', () => {
    const draft = new ChangeDraft(facts({}))
    draft.move(row(), 'suspended', { reason: 'yielded', progress: halfway, due: { inMs: 5 } })
    draft.move(suspended, 'paused', { heldFrom: 'suspended' })
    draft.move(row({ state: 'paused', heldFrom: 'suspended' }), 'suspended')
    draft.move(row(), 'scheduled')
    const { moves, events } = draft.build()
    expect(events.map(({ type, from, to, reason }) => [type, from, to, reason])).toEqual([
      ['step.suspended', 'in_progress', 'suspended', 'yielded'],
      ['step.held', 'suspended', 'paused', null],
      ['step.released', 'paused', 'suspended', null],
      ['step.released', 'in_progress', 'scheduled', null],
    ])
    expect(moves).toEqual([
      { slot: '', state: 'suspended', fence: 6, heldFrom: null, progress: halfway, due: { inMs: 5 } },
      { slot: '', state: 'paused', fence: 5, heldFrom: 'suspended', progress: null, due: null },
      { slot: '', state: 'suspended', fence: 5, heldFrom: null, progress: null, due: null },
      { slot: '', state: 'scheduled', fence: 6, heldFrom: null, progress: null, due: null },
    ])
  })

  it('writes the outcome into the event where nobody gave a reason', () => {
    const draft = new ChangeDraft(facts({}))
    draft.end(row(), 'completed', 'success')
    expect(draft.build().events).toEqual([
      {
        workflowId: '7',
        type: 'step.completed',
        executionId: '8',
        node: 'a',
        attempt: 1,
        from: 'in_progress',
        to: 'completed',
        by: null,
        reason: 'success',
      },
    ])
  })

  it('removes the timers and nothing else', () => {
    const timer = row({ slot: 'timer', kind: 'timer', id: '9' })
    const draft = new ChangeDraft(facts({ active: [row(), timer] }))
    draft.dropTimers()
    expect(draft.build().removals).toEqual([{ slot: 'timer' }])
  })
})

describe('a new row', () => {
  it('replaces the row of its slot, and is inserted where there is none', () => {
    const over = new ChangeDraft(facts({ active: [row()] }))
    advance(over, plan, row())
    expect(over.build()).toMatchObject({ replacements: [{ node: 'b', workflowId: '7' }], insertions: [] })
    const into = new ChangeDraft(facts({}))
    repeat(into, plan, row(), { due: { inMs: 0 }, failures: 0, crashes: 0 })
    expect(into.build()).toMatchObject({ replacements: [], insertions: [{ node: 'a', attempt: 2 }] })
  })

  it('is none that the workflow has passed where the code has moved it back', () => {
    const moved = planFor(chain('a', 'x', 'b'), { movedBack: new Set(['x', 'b']) })
    const next = (passed: string[]) => advance(new ChangeDraft(facts({ active: [row()], passed })), moved, row())?.node
    expect(next([])).toBe('x')
    expect(next(['x'])).toBe('b')
    expect(next(['x', 'b'])).toBeUndefined()
    expect(advance(new ChangeDraft(facts({ active: [row()], passed: ['b'] })), plan, row())?.node).toBe('b')
  })

  it('of a resumable step goes on where the one before was, and a run of it is counted when it begins at once', () => {
    const draft = new ChangeDraft(facts({ active: [row()] }))
    const again = { due: { inMs: 0 }, failures: 0, crashes: 0 }
    expect(repeat(draft, plan, row({ progress: halfway }), again).progress).toEqual(halfway)
    const runOn = { workerId: 'worker', serves: () => true }
    const running = repeat(draft, { ...plan, runOn }, row({ progress: halfway }), again)
    expect(running).toMatchObject({ state: 'in_progress', progress: { ...halfway, runs: 3 } })
    expect(repeat(draft, plan, row({ progress: halfway }), { ...again, rewind: true }).progress).toEqual(noProgress)
    expect(advance(draft, plan, row({ progress: halfway }))?.progress).toEqual(noProgress)
  })

  it('is not handed to the same worker after a crash', () => {
    const runOn = { workerId: 'worker', serves: () => true }
    const draft = new ChangeDraft(facts({ active: [row()] }))
    const next = repeat(draft, { ...plan, runOn }, row(), { due: { inMs: 0 }, failures: 0, crashes: 1 })
    expect(next).toMatchObject({ state: 'scheduled', owner: null, crashes: 1 })
  })
})
