/** What becomes of a workflow when someone outside asks, and what is refused. */
import { describe, expect, it } from 'vitest'
import { decideCancel, decidePause, decideResume, decideSkip } from '../../../src/engine/decide-request.ts'
import type { WorkflowChange } from '../../../src/store/change.ts'
import { noProgress } from '../../../src/store/records.ts'
import { chain, facts, halfway, latest, planFor, row, suspended } from './facts.ts'

const asked = { by: 'ann', reason: 'because' }
const plan = planFor(chain('a', 'b'))
const waiting = row({ state: 'scheduled', owner: null, startedAt: null })
const held = row({ state: 'paused', owner: null, startedAt: null, heldFrom: 'scheduled' })
const heldSuspended = row({ ...suspended, state: 'paused', heldFrom: 'suspended' })

function next(change: WorkflowChange | null) {
  return [...(change?.replacements ?? []), ...(change?.insertions ?? [])].map(item => [
    item.node,
    item.attempt,
    item.state,
  ])
}

describe('pause', () => {
  it('holds what waits, and keeps its fence', () => {
    const change = decidePause(facts({ active: [waiting] }), asked)
    expect(change?.moves).toEqual([
      { slot: '', state: 'paused', fence: 5, heldFrom: 'scheduled', progress: null, due: null },
    ])
    expect(change?.state).toEqual({ to: 'paused', pauseCause: 'request' })
    expect(change?.events).toMatchObject([
      { type: 'step.held', from: 'scheduled', to: 'paused' },
      { type: 'workflow.paused', from: 'ready', to: 'paused', by: 'ann', reason: 'because' },
    ])
  })

  it('holds a suspended step and remembers that it was suspended', () => {
    const change = decidePause(facts({ active: [suspended] }), asked)
    expect(change?.moves).toEqual([
      { slot: '', state: 'paused', fence: 5, heldFrom: 'suspended', progress: null, due: null },
    ])
    expect(change?.events[0]).toMatchObject({ type: 'step.held', from: 'suspended', to: 'paused' })
  })

  it('leaves alone what runs', () => {
    const change = decidePause(facts({ active: [row()] }), asked)
    expect(change?.moves).toEqual([])
    expect(change?.state?.to).toBe('paused')
  })

  it('of a paused workflow changes nothing', () => {
    expect(decidePause(facts({ state: 'paused' }), asked)).toBeNull()
  })

  it.each(['rolling_back', 'finished', 'canceled'] as const)('is refused when the workflow is %s', state => {
    expect(() => decidePause(facts({ state }), asked)).toThrow(
      expect.objectContaining({ code: 'INVALID_STATE', workflowId: '7', state }),
    )
  })
})

describe('resume', () => {
  it('lets go what is held', () => {
    const change = decideResume(facts({ state: 'paused', pauseCause: 'request', active: [held] }), asked, plan)
    expect(change.moves).toEqual([
      { slot: '', state: 'scheduled', fence: 5, heldFrom: null, progress: null, due: null },
    ])
    expect(change.state).toEqual({ to: 'ready', pauseCause: null })
    expect(change.events.map(event => event.type)).toEqual(['workflow.resumed', 'step.released'])
  })

  it('lets go a suspended step as suspended, with its own due time and progress', () => {
    const change = decideResume(facts({ state: 'paused', pauseCause: 'request', active: [heldSuspended] }), asked, plan)
    expect(change.moves).toEqual([
      { slot: '', state: 'suspended', fence: 5, heldFrom: null, progress: null, due: null },
    ])
    expect(change.endings).toEqual([])
  })

  it('lets a failed resumable step go on where it was', () => {
    const situation = facts({ state: 'paused', pauseCause: 'exception', latest: latest({ progress: halfway }) })
    expect(decideResume(situation, asked, plan).insertions).toMatchObject([{ attempt: 2, progress: halfway }])
  })

  it('leaves alone what still runs', () => {
    const change = decideResume(facts({ state: 'paused', pauseCause: 'request', active: [row()] }), asked, plan)
    expect(change.moves).toEqual([])
    expect(change.state?.to).toBe('ready')
  })

  it.each(['failed', 'canceled'] as const)('makes a new attempt at a step that %s, with fresh counters', state => {
    const situation = facts({ state: 'paused', pauseCause: 'exception', latest: latest({ state, attempt: 3 }) })
    const change = decideResume(situation, asked, plan)
    expect(change.insertions).toMatchObject([
      { id: '90', node: 'a', attempt: 4, ordinal: 2, failures: 0, crashes: 0, state: 'scheduled', due: { inMs: 0 } },
    ])
    expect(change.state?.to).toBe('ready')
  })

  it('goes on behind a step that ended well', () => {
    const situation = facts({ state: 'paused', pauseCause: 'request', latest: latest({ state: 'completed' }) })
    const change = decideResume(situation, asked, plan)
    expect(next(change)).toEqual([['b', 1, 'scheduled']])
    expect(change.state?.to).toBe('ready')
  })

  it('ends the workflow when its last step has ended', () => {
    const situation = facts({ state: 'paused', latest: latest({ state: 'skipped', node: 'b' }) })
    const change = decideResume(situation, asked, plan)
    expect(change.state).toEqual({ to: 'finished', pauseCause: null })
    expect(change.events).toMatchObject([{ type: 'workflow.finished', by: 'ann' }])
  })

  it('ends the workflow when its step had declared it finished', () => {
    const situation = facts({ state: 'paused', pauseCause: 'finishing', latest: latest({ state: 'completed' }) })
    expect(decideResume(situation, asked, plan).state?.to).toBe('finished')
  })

  it('ends a workflow that has nothing at all', () => {
    expect(decideResume(facts({ state: 'paused' }), asked, plan).state?.to).toBe('finished')
  })

  it('keeps the place of a failed step that the code has lost', () => {
    const situation = facts({ state: 'paused', pauseCause: 'exception', latest: latest({ node: 'lost' }) })
    expect(decideResume(situation, asked, plan).insertions).toMatchObject([
      { node: 'lost', attempt: 2, queue: 'default', priority: 0 },
    ])
  })

  it.each(['ready', 'rolling_back', 'finished', 'canceled'] as const)('is refused when it is %s', state => {
    expect(() => decideResume(facts({ state }), asked, plan)).toThrow(
      expect.objectContaining({ code: 'INVALID_STATE', state }),
    )
  })

  it('is refused while it performs, by that name', () => {
    expect(() => decideResume(facts({ active: [row()] }), asked, plan)).toThrow('Workflow 7 is performing')
  })
})

describe('cancel', () => {
  it.each([waiting, held])('ends at once what does not run', idle => {
    const state = idle === held ? 'paused' : 'ready'
    const change = decideCancel(facts({ state, active: [idle] }), asked, plan)
    expect(change?.endings).toMatchObject([{ state: 'canceled', outcome: 'stopped', reason: 'because' }])
    expect(change?.removals).toEqual([{ slot: '' }])
    expect(change?.state?.to).toBe('canceled')
    expect(change?.events).toMatchObject([
      { type: 'step.canceled', by: 'ann' },
      { type: 'workflow.canceled', by: 'ann' },
    ])
  })

  it.each(['ready', 'paused'] as const)('waits for what runs, with a timer, when it was %s', state => {
    const change = decideCancel(facts({ state, active: [row()] }), asked, plan)
    expect(change?.state?.to).toBe('rolling_back')
    expect(change?.endings).toEqual([])
    expect(change?.insertions).toMatchObject([
      {
        slot: 'timer',
        kind: 'timer',
        node: '',
        state: 'scheduled',
        handler: 'Sample',
        due: { inMs: 30_000 },
        id: '90',
      },
    ])
  })

  it.each([suspended, heldSuspended])('ends a step that has begun and does not run as skipped', idle => {
    const state = idle === heldSuspended ? 'paused' : 'ready'
    const change = decideCancel(facts({ state, active: [idle] }), asked, plan)
    expect(change?.endings).toMatchObject([{ state: 'skipped', outcome: 'stopped', execution: { progress: halfway } }])
    expect(change?.state?.to).toBe('canceled')
    expect(change?.insertions).toEqual([])
  })

  it('ends a workflow that has no row', () => {
    expect(decideCancel(facts({ state: 'paused' }), asked, plan)?.state?.to).toBe('canceled')
  })

  it('asked again changes nothing', () => {
    expect(decideCancel(facts({ state: 'rolling_back' }), asked, plan)).toBeNull()
  })

  it.each(['finished', 'canceled'] as const)('is refused when it is %s', state => {
    expect(() => decideCancel(facts({ state }), asked, plan)).toThrow(
      expect.objectContaining({ code: 'INVALID_STATE', state }),
    )
  })
})

describe('skip', () => {
  it('leaves out a step that waits', () => {
    const change = decideSkip(facts({ active: [waiting] }), 'a', asked, plan)
    expect(change.endings).toMatchObject([{ state: 'skipped', outcome: 'skipped_by_flow_control', reason: 'because' }])
    expect(next(change)).toEqual([['b', 1, 'scheduled']])
    expect(change.state).toBeNull()
  })

  it.each([suspended, heldSuspended])('leaves out the rest of a step that is suspended', idle => {
    const situation = idle === heldSuspended ? ({ state: 'paused', pauseCause: 'flow_control' } as const) : {}
    const change = decideSkip(facts({ ...situation, active: [idle] }), 'a', asked, plan)
    expect(change.endings).toMatchObject([{ state: 'skipped', outcome: 'skipped_by_flow_control' }])
    expect(change.replacements).toMatchObject([{ node: 'b', state: 'scheduled', progress: noProgress }])
  })

  it('holds the next step when a person had paused the workflow', () => {
    const situation = facts({ state: 'paused', pauseCause: 'request', active: [held] })
    const change = decideSkip(situation, 'a', asked, plan)
    expect(next(change)).toEqual([['b', 1, 'paused']])
    expect(change.state).toBeNull()
  })

  it.each(['ready', 'paused'] as const)('of the last step ends a workflow that is %s', state => {
    const idle = row({ node: 'b', state: state === 'ready' ? 'scheduled' : 'paused', owner: null })
    const pauseCause = state === 'paused' ? 'request' : null
    const change = decideSkip(facts({ state, pauseCause, active: [idle] }), 'b', asked, plan)
    expect(change.state?.to).toBe('finished')
    expect(change.removals).toEqual([{ slot: '' }])
  })

  it.each(['failed', 'canceled'] as const)('of a step that %s is a new attempt, already ended', state => {
    const situation = facts({ state: 'paused', pauseCause: 'exception', latest: latest({ state, attempt: 2 }) })
    const change = decideSkip(situation, 'a', asked, plan)
    expect(change.endings).toMatchObject([
      {
        execution: { id: '91', node: 'a', attempt: 3, ordinal: 2, startedAt: null, createdAt: null },
        state: 'skipped',
      },
    ])
    expect(change.insertions).toMatchObject([{ id: '90', node: 'b', ordinal: 3, state: 'scheduled' }])
    expect(change.state?.to).toBe('ready')
  })

  it('of a failed step holds the next one when a person had paused the workflow', () => {
    const situation = facts({ state: 'paused', pauseCause: 'request', latest: latest() })
    const change = decideSkip(situation, 'a', asked, plan)
    expect(next(change)).toEqual([['b', 1, 'paused']])
    expect(change.state).toBeNull()
  })

  it('goes on behind a step that the code has lost, from where it stood', () => {
    const situation = facts({ state: 'paused', pauseCause: 'exception', latest: latest({ node: 'lost' }) })
    const at = (...before: string[]) => ({ ...plan, others: [chain('unrelated'), chain(...before)] })
    expect(next(decideSkip(situation, 'lost', asked, at('a', 'lost', 'b')))).toEqual([['b', 1, 'scheduled']])
    expect(next(decideSkip(situation, 'lost', asked, at('a', 'gone', 'lost')))).toEqual([['b', 1, 'scheduled']])
    expect(next(decideSkip(situation, 'lost', asked, at('lost', 'b')))).toEqual([['a', 1, 'scheduled']])
    expect(decideSkip(situation, 'lost', asked, at('a', 'b', 'lost')).state?.to).toBe('finished')
  })

  it('of a step that no code ever had says what is missing', () => {
    const situation = facts({ state: 'paused', pauseCause: 'exception', latest: latest({ node: 'lost' }) })
    expect(() => decideSkip(situation, 'lost', asked, plan)).toThrow(expect.objectContaining({ code: 'STEP_MISSING' }))
  })

  it.each([
    ['a running step', facts({ active: [row()] }), 'a', 'The step is running'],
    ['a step that it does not stand at', facts({ active: [waiting] }), 'b', 'It stands at step a.'],
    [
      'a step that ended well',
      facts({ latest: latest({ state: 'completed' }) }),
      'a',
      'Its last step is a (completed).',
    ],
    ['a step that has not begun', facts({ latest: latest() }), 'b', 'Its last step is a (failed).'],
    ['anything where nothing has run', facts({}), 'a', 'Its last step is none (none).'],
    ['a step of a workflow that is ending', facts({ state: 'rolling_back' }), 'a', 'It is ending or has ended.'],
    ['a step of a workflow that has ended', facts({ state: 'finished' }), 'a', 'It is ending or has ended.'],
  ])('is refused for %s', (_, situation, node, remedy) => {
    expect(() => decideSkip(situation, node, asked, plan)).toThrow(
      expect.objectContaining({ code: 'INVALID_STATE', message: expect.stringContaining(remedy) }),
    )
  })
})
