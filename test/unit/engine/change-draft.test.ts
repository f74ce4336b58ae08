/** The draft of a change: refuses what the tables do not allow, and sorts rows into those that move on and those that are new. */
import { describe, expect, it } from 'vitest'
import { ChangeDraft } from '../../../src/engine/change-draft.ts'
import { arrive, repeat } from '../../../src/engine/schedule.ts'
import { noProgress } from '../../../src/store/records.ts'
import { chain, facts, halfway, planFor, row, rowOf, suspended } from './facts.ts'

const plan = planFor(chain('a', 'b'))

describe('a draft', () => {
  it('that nothing was asked of changes nothing', () => {
    expect(new ChangeDraft(facts({ active: [row()] })).build()).toEqual({
      workflowId: '7',
      update: null,
      endings: [],
      undone: [],
      dropped: [],
      replacements: [],
      insertions: [],
      removals: [],
      stops: [],
      moves: [],
      fanIns: { inserted: [], updated: [], removed: [], cleared: false },
      graph: null,
      letters: { opened: [], closed: [] },
      continuation: null,
      messages: { decisions: [], signals: [], taken: [] },
      wakes: false,
      events: [],
    })
  })

  it('refuses to end a row in a way that its state does not allow', () => {
    const draft = new ChangeDraft(facts({}))
    const idle = row({ state: 'scheduled' })
    expect(() => draft.end(idle, 'failed', 'recovered')).toThrow('Execution 8 cannot go from scheduled to failed.')
    expect(draft.build().endings).toEqual([])
  })

  it('refuses to insert an attempt that has failed out of nothing', () => {
    const draft = new ChangeDraft(facts({}))
    const ended = { ...row(), startedAt: null, owner: null }
    expect(() => draft.insertEnded(ended, 'failed', 'recovered')).toThrow('cannot go from new to failed')
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
    const running = rowOf('a', { fence: 5 })
    const held = rowOf('b', { fence: 5, state: 'paused' })
    const draft = new ChangeDraft(facts({ active: [running, held] }))
    draft.move(running, 'scheduled')
    draft.move(held, 'scheduled')
    expect(draft.build().moves.map(move => move.fence)).toEqual([6, 5])
  })

  it('says of each move what it is: suspended, held, let go', () => {
    const idle = rowOf('b', { ...suspended, node: 'b', slot: 'b' })
    const held = rowOf('c', { state: 'paused', heldFrom: 'suspended' })
    const draft = new ChangeDraft(facts({ active: [rowOf('a'), idle, held, rowOf('d'), rowOf('e')] }))
    draft.move(rowOf('a'), 'suspended', { reason: 'yielded', progress: halfway, due: { inMs: 5 } })
    draft.move(idle, 'paused', { heldFrom: 'suspended' })
    draft.move(held, 'suspended')
    draft.move(rowOf('d'), 'scheduled')
    draft.move(rowOf('e'), 'waiting')
    const { moves, events } = draft.build()
    expect(events.map(({ type, from, to, reason }) => [type, from, to, reason])).toEqual([
      ['step.suspended', 'in_progress', 'suspended', 'yielded'],
      ['step.held', 'suspended', 'paused', null],
      ['step.released', 'paused', 'suspended', null],
      ['step.released', 'in_progress', 'scheduled', null],
      ['step.waiting', 'in_progress', 'waiting', null],
    ])
    expect(moves).toEqual([
      { slot: 'a', state: 'suspended', fence: 6, heldFrom: null, progress: halfway, due: { inMs: 5 }, input: null },
      { slot: 'b', state: 'paused', fence: 5, heldFrom: 'suspended', progress: null, due: null, input: null },
      { slot: 'c', state: 'suspended', fence: 5, heldFrom: null, progress: null, due: null, input: null },
      { slot: 'd', state: 'scheduled', fence: 6, heldFrom: null, progress: null, due: null, input: null },
      { slot: 'e', state: 'waiting', fence: 6, heldFrom: null, progress: null, due: null, input: null },
    ])
  })

  it('writes how and since when into the event of an end', () => {
    const draft = new ChangeDraft(facts({}))
    draft.end(row(), 'completed', 'success')
    expect(draft.build().events).toEqual([
      {
        workflowId: '7',
        type: 'step.completed',
        executionId: '8',
        node: 'a',
        nodeName: null,
        attempt: 1,
        from: 'in_progress',
        to: 'completed',
        by: null,
        reason: null,
        outcome: 'success',
        since: 2000,
        payload: null,
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
    over.end(row(), 'completed', 'success')
    arrive(over, plan, row(), null)
    expect(over.build()).toMatchObject({ replacements: [{ node: 'b', workflowId: '7' }], insertions: [] })
    const into = new ChangeDraft(facts({}))
    repeat(into, plan, row(), { due: { inMs: 0 }, failures: 0, crashes: 0 })
    expect(into.build()).toMatchObject({ replacements: [], insertions: [{ node: 'a', attempt: 2 }] })
  })

  it('of a resumable step goes on where the one before was, and a run of it is counted when it begins at once', () => {
    const draft = () => new ChangeDraft(facts({}))
    const again = { due: { inMs: 0 }, failures: 0, crashes: 0 }
    expect(repeat(draft(), plan, row({ progress: halfway }), again).progress).toEqual(halfway)
    const runOn = { workerId: 'worker', serves: () => true }
    const running = repeat(draft(), plan, row({ progress: halfway }), { ...again, runOn })
    expect(running).toMatchObject({ state: 'in_progress', progress: { ...halfway, runs: 3 } })
    expect(repeat(draft(), plan, row({ progress: halfway }), { ...again, rewind: true }).progress).toEqual(noProgress)
    expect(arrive(draft(), plan, row({ progress: halfway }), null)[0]?.progress).toEqual(noProgress)
  })

  it('is not handed to the same worker after a crash', () => {
    const runOn = { workerId: 'worker', serves: () => true }
    const draft = new ChangeDraft(facts({ active: [row()] }))
    const next = repeat(draft, plan, row(), { due: { inMs: 0 }, failures: 0, crashes: 1, runOn })
    expect(next).toMatchObject({ state: 'scheduled', owner: null, crashes: 1 })
  })
})
