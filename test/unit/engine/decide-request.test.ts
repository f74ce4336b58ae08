/** What becomes of a workflow when someone outside asks, and what is refused. */
import { describe, expect, it } from 'vitest'
import { decideCancel, decidePause, decideResume, decideSkip } from '../../../src/engine/decide-request.ts'
import type { WorkflowFacts } from '../../../src/store/change.ts'
import { noProgress } from '../../../src/store/records.ts'
import { begun, chain, decided, done, endings, facts, halfway, latest, planFor, row, suspended } from './facts.ts'

const asked = { by: 'ann', reason: 'because' }
const graph = chain('a', 'b')
const waiting = row({ state: 'scheduled', owner: null, startedAt: null })
const held = row({ state: 'paused', owner: null, startedAt: null, heldFrom: 'scheduled' })
const heldSuspended = row({ ...suspended, state: 'paused', heldFrom: 'suspended' })

/** Ends of a step that keep the workflow from going on: it threw, or it called `this.pause()`. */
const unsettled = [
  ['failed', 'paused_by_exception'],
  ['canceled', 'canceled_by_flow_control'],
] as const

const pause = (situation: WorkflowFacts) => decided(situation, draft => decidePause(draft, asked))
const resume = (situation: WorkflowFacts, plan = planFor(graph)) =>
  decided(situation, draft => decideResume(draft, asked, plan))
const cancel = (situation: WorkflowFacts) => decided(situation, draft => decideCancel(draft, asked, planFor(graph)))
const skip = (situation: WorkflowFacts, node: string, plan = planFor(graph)) =>
  decided(situation, draft => decideSkip(draft, node, asked, plan))

describe('pause', () => {
  it('holds what waits, and keeps its fence', () => {
    const change = pause(facts({ active: [waiting] }))
    expect(change.moves).toEqual([
      { slot: '', state: 'paused', fence: 5, heldFrom: 'scheduled', progress: null, due: null, input: null },
    ])
    expect(change.update).toMatchObject({ state: 'paused', pauseCause: 'request' })
    expect(change.events).toMatchObject([
      { type: 'step.held', from: 'scheduled', to: 'paused' },
      { type: 'workflow.paused', from: 'ready', to: 'paused', by: 'ann', reason: 'because' },
    ])
  })

  it('holds a suspended step and remembers that it was suspended', () => {
    const change = pause(facts({ active: [suspended] }))
    expect(change.moves).toEqual([
      { slot: '', state: 'paused', fence: 5, heldFrom: 'suspended', progress: null, due: null, input: null },
    ])
    expect(change.events[0]).toMatchObject({ type: 'step.held', from: 'suspended', to: 'paused' })
  })

  it('leaves alone what runs', () => {
    const change = pause(facts({ active: [row()] }))
    expect(change.moves).toEqual([])
    expect(change.update?.state).toBe('paused')
  })

  it.each(['request', 'finishing'] as const)('of a workflow that is paused (%s) changes nothing', pauseCause => {
    const change = pause(facts({ state: 'paused', pauseCause }))
    expect(change).toMatchObject({ update: null, moves: [], events: [] })
  })

  it.each(['exception', 'flow_control'] as const)('takes over what was paused by another cause (%s)', pauseCause => {
    const change = pause(facts({ state: 'paused', pauseCause, active: [held] }))
    expect(change.moves).toEqual([])
    expect(change.update).toMatchObject({ state: 'paused', pauseCause: 'request' })
    const event = { type: 'workflow.paused', from: 'paused', to: 'paused', by: 'ann', reason: 'because' }
    expect(change.events).toMatchObject([{ ...event, payload: '{"cause":"request"}' }])
  })

  it.each(['rolling_back', 'finished', 'canceled'] as const)('is refused when the workflow is %s', state => {
    expect(() => pause(facts({ state }))).toThrow(
      expect.objectContaining({ code: 'INVALID_STATE', workflowId: '7', state }),
    )
  })
})

it('a pause is refused while the workflow is finishing, and says so', () => {
  const situation = facts({ state: 'ready', finishing: true, active: [row()] })
  expect(() => pause(situation)).toThrow(
    'Workflow 7 is performing: cannot pause it. It is finishing: nothing new begins, and what still runs is waited for.',
  )
})

describe('resume', () => {
  it('lets go what is held', () => {
    const change = resume(facts({ state: 'paused', pauseCause: 'request', active: [held] }))
    expect(change.moves).toEqual([
      { slot: '', state: 'scheduled', fence: 5, heldFrom: null, progress: null, due: null, input: null },
    ])
    expect(change.update).toMatchObject({ state: 'ready', pauseCause: null })
    expect(change.events.map(event => event.type)).toEqual(['workflow.resumed', 'step.released'])
  })

  it('lets go a suspended step as suspended, with its own due time and progress', () => {
    const change = resume(facts({ state: 'paused', pauseCause: 'request', active: [heldSuspended] }))
    expect(change.moves).toEqual([
      { slot: '', state: 'suspended', fence: 5, heldFrom: null, progress: null, due: null, input: null },
    ])
    expect(change.endings).toEqual([])
  })

  it('lets a failed resumable step go on where it was', () => {
    const situation = facts({ state: 'paused', pauseCause: 'exception', latest: [latest({ progress: halfway })] })
    expect(resume(situation).insertions).toMatchObject([{ attempt: 2, progress: halfway }])
  })

  it('leaves alone what still runs', () => {
    const change = resume(facts({ state: 'paused', pauseCause: 'request', active: [row()] }))
    expect(change.moves).toEqual([])
    expect(change.update?.state).toBe('ready')
  })

  it.each(unsettled)('makes a new attempt at a step that %s, with fresh counters', (state, outcome) => {
    const ended = latest({ state, outcome, attempt: 3 })
    const situation = facts({ state: 'paused', pauseCause: 'exception', latest: [ended] })
    const change = resume(situation)
    expect(change.insertions).toMatchObject([
      { id: '90', node: 'a', attempt: 4, ordinal: 2, failures: 0, crashes: 0, state: 'scheduled', due: { inMs: 0 } },
    ])
    expect(change.update?.state).toBe('ready')
  })

  it('goes on with what a deploy has put behind a step that ended well', () => {
    const situation = facts({ state: 'paused', pauseCause: 'request', generation: 2, latest: done('a') })
    const change = resume(situation, planFor(graph, { heals: true }))
    expect(begun(change)).toEqual(['b 1 scheduled'])
    expect(change.update?.state).toBe('ready')
  })

  it('ends the workflow when its last step has ended', () => {
    const situation = facts({ state: 'paused', latest: [...done('a'), latest({ node: 'b', state: 'skipped' })] })
    const change = resume(situation)
    expect(change.update).toMatchObject({ state: 'finished', pauseCause: null })
    expect(change.events).toMatchObject([{ type: 'workflow.finished', by: 'ann' }])
  })

  it('ends the workflow when its step had declared it finished', () => {
    const situation = facts({ state: 'paused', pauseCause: 'finishing', latest: done('a') })
    expect(resume(situation).update?.state).toBe('finished')
  })

  it('ends a workflow that has nothing at all', () => {
    expect(resume(facts({ state: 'paused' })).update?.state).toBe('finished')
  })

  it('keeps the place of a failed step that the code has lost', () => {
    const situation = facts({ state: 'paused', pauseCause: 'exception', latest: [latest({ node: 'lost' })] })
    expect(resume(situation).insertions).toMatchObject([
      // Whoever has code for it may run it.
      { node: 'lost', attempt: 2, queue: 'default', priority: 0, generation: 0 },
    ])
  })

  it.each(['ready', 'rolling_back', 'finished', 'canceled'] as const)('is refused when it is %s', state => {
    expect(() => resume(facts({ state }))).toThrow(expect.objectContaining({ code: 'INVALID_STATE', state }))
  })

  it('is refused while it performs, by that name', () => {
    expect(() => resume(facts({ active: [row()] }))).toThrow('Workflow 7 is performing')
  })
})

describe('cancel', () => {
  it.each([waiting, held])('ends at once what does not run', idle => {
    const state = idle === held ? 'paused' : 'ready'
    const change = cancel(facts({ state, active: [idle] }))
    expect(change.endings).toMatchObject([{ state: 'canceled', outcome: 'stopped', reason: 'because' }])
    expect(change.removals).toEqual([{ slot: '' }])
    expect(change.update?.state).toBe('canceled')
    expect(change.events).toMatchObject([
      { type: 'step.canceled', by: 'ann' },
      { type: 'workflow.canceled', by: 'ann' },
    ])
  })

  it.each(['ready', 'paused'] as const)('waits for what runs, with a timer, when it was %s', state => {
    const change = cancel(facts({ state, active: [row()] }))
    expect(change.update?.state).toBe('rolling_back')
    expect(change.endings).toEqual([])
    expect(change.insertions).toMatchObject([
      {
        slot: '#stop',
        kind: 'timer',
        node: '',
        state: 'scheduled',
        handler: '#timer',
        due: { inMs: 30_000 },
        id: '90',
      },
    ])
  })

  it.each([suspended, heldSuspended])('ends a step that has begun and does not run as skipped', idle => {
    const state = idle === heldSuspended ? 'paused' : 'ready'
    const change = cancel(facts({ state, active: [idle] }))
    expect(change.endings).toMatchObject([{ state: 'skipped', outcome: 'stopped', execution: { progress: halfway } }])
    expect(change.update?.state).toBe('canceled')
    expect(change.insertions).toEqual([])
  })

  it('ends a workflow that has no row', () => {
    expect(cancel(facts({ state: 'paused' }))?.update?.state).toBe('canceled')
  })

  it('asked again changes nothing', () => {
    const change = cancel(facts({ state: 'rolling_back', active: [row()] }))
    expect(change).toMatchObject({ update: null, endings: [], insertions: [], events: [] })
  })

  it.each(['finished', 'canceled'] as const)('is refused when it is %s', state => {
    expect(() => cancel(facts({ state }))).toThrow(expect.objectContaining({ code: 'INVALID_STATE', state }))
  })
})

describe('skip', () => {
  it('leaves out a step that waits', () => {
    const change = skip(facts({ active: [waiting] }), 'a')
    expect(change.endings).toMatchObject([{ state: 'skipped', outcome: 'skipped_by_flow_control', reason: 'because' }])
    expect(begun(change)).toEqual(['b 1 scheduled'])
    expect(change.update?.state).toBe('ready')
  })

  it.each([suspended, heldSuspended])('leaves out the rest of a step that is suspended', idle => {
    const situation = idle === heldSuspended ? ({ state: 'paused', pauseCause: 'flow_control' } as const) : {}
    const change = skip(facts({ ...situation, active: [idle] }), 'a')
    expect(change.endings).toMatchObject([{ state: 'skipped', outcome: 'skipped_by_flow_control' }])
    expect(change.replacements).toMatchObject([{ node: 'b', state: 'scheduled', progress: noProgress }])
  })

  it('holds the next step when a person had paused the workflow', () => {
    const situation = facts({ state: 'paused', pauseCause: 'request', active: [held] })
    const change = skip(situation, 'a')
    expect(begun(change)).toEqual(['b 1 paused'])
    expect(change.update).toMatchObject({ state: 'paused', pauseCause: 'request' })
  })

  it.each(['ready', 'paused'] as const)('of the last step ends a workflow that is %s', state => {
    const idle = row({ node: 'b', state: state === 'ready' ? 'scheduled' : 'paused', owner: null })
    const pauseCause = state === 'paused' ? 'request' : null
    const change = skip(facts({ state, pauseCause, active: [idle] }), 'b')
    expect(change.update?.state).toBe('finished')
    expect(change.removals).toEqual([{ slot: '' }])
  })

  it.each(unsettled)('of a step that %s is a new attempt, already ended', (state, outcome) => {
    const ended = latest({ state, outcome, attempt: 2 })
    const situation = facts({ state: 'paused', pauseCause: 'exception', latest: [ended] })
    const change = skip(situation, 'a')
    expect(change.endings).toMatchObject([
      {
        execution: { id: '90', node: 'a', attempt: 3, ordinal: 2, startedAt: null, createdAt: null },
        state: 'skipped',
      },
    ])
    expect(change.insertions).toMatchObject([{ id: '91', node: 'b', ordinal: 3, state: 'scheduled' }])
    expect(change.update?.state).toBe('ready')
  })

  it('of a failed step holds the next one when a person had paused the workflow', () => {
    const situation = facts({ state: 'paused', pauseCause: 'request', latest: [latest()] })
    const change = skip(situation, 'a')
    expect(begun(change)).toEqual(['b 1 paused'])
    expect(change.update).toMatchObject({ state: 'paused', pauseCause: 'request' })
  })

  it.each([
    ['in the middle', done('a'), ['b 1 scheduled']],
    ['at the beginning', [], ['a 1 scheduled']],
    ['at the end', done('a', 'b'), []],
  ])('goes on behind a step that the code has lost %s', (_, others, expected) => {
    const ended = [...others, latest({ node: 'lost' })]
    const situation = facts({ state: 'paused', pauseCause: 'exception', generation: 2, latest: ended })
    const change = skip(situation, 'lost', planFor(graph, { heals: true }))
    expect(endings(change)).toEqual(['lost skipped skipped_by_flow_control'])
    expect(begun(change)).toEqual(expected)
    expect(change.update?.state).toBe(expected.length === 0 ? 'finished' : 'ready')
  })

  it.each([
    ['a running step', facts({ active: [row()] }), 'a', 'The step is running'],
    [
      'a step that it does not stand at',
      facts({ active: [waiting] }),
      'b',
      'It is not due yet; the workflow stands at a (scheduled).',
    ],
    ['a step that ended well', facts({ latest: done('a') }), 'a', 'It is completed.'],
    ['a step that has not begun', facts({ latest: [latest()] }), 'b', 'It is not due yet.'],
    ['a step that does not exist', facts({ latest: [latest()] }), 'x', 'There is no step of that name.'],
    ['anything where nothing has run', facts({}), 'a', 'It is not due yet.'],
    ['a step of a workflow that is finishing', facts({ finishing: true }), 'a', 'It is ending or has ended.'],
    ['a step of a workflow that is ending', facts({ state: 'rolling_back' }), 'a', 'It is ending or has ended.'],
    ['a step of a workflow that has ended', facts({ state: 'finished' }), 'a', 'It is ending or has ended.'],
  ])('is refused for %s', (_, situation, node, remedy) => {
    expect(() => skip(situation, node)).toThrow(
      expect.objectContaining({ code: 'INVALID_STATE', message: expect.stringContaining(remedy) }),
    )
  })
})
