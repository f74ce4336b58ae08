/** Skip, resolve, reattempt and resume where several branches are under way: which node they settle, and what they leave alone. */
import { describe, expect, it } from 'vitest'
import {
  decidePause,
  decideReattempt,
  decideResolve,
  decideResume,
  decideSkip,
} from '../../../src/engine/decide-request.ts'
import type { StepReport } from '../../../src/engine/step-report.ts'
import {
  begun,
  decidedOn,
  diamond,
  done,
  endings,
  facts,
  graphOf,
  halfway,
  idleRowOf,
  latest,
  rowOf,
  threw,
} from './facts.ts'
import { PlayedWorkflow } from './played-workflow.ts'

const asked = { by: 'ann', reason: 'because' }
const failing = threw({ action: 'pause' })

const pause = (wf: PlayedWorkflow) => wf.ask(draft => decidePause(draft, asked))
const resume = (wf: PlayedWorkflow) => wf.ask((draft, plan) => decideResume(draft, asked, plan))
const skip = (wf: PlayedWorkflow, node: string) => wf.ask((draft, plan) => decideSkip(draft, node, asked, plan))
const resolve = (wf: PlayedWorkflow, node: string, output: string | null = null) =>
  wf.ask((draft, plan) => decideResolve(draft, { node, request: asked, output }, plan))
const reattempt = (wf: PlayedWorkflow, node: string) =>
  wf.ask((draft, plan) => decideReattempt(draft, node, asked, plan))

/** Two branches that join; both have failed, and the workflow is paused for it. */
function stuck(): PlayedWorkflow {
  const wf = new PlayedWorkflow(diamond)
  wf.complete('a')
  wf.report(['b', failing])
  wf.report(['c', failing])
  return wf
}

describe.each([
  ['skip', skip, 'skipped', 'skipped_by_flow_control'],
  ['resolve', resolve, 'completed', 'resolved'],
] as const)('to %s', (_, settle, state, outcome) => {
  it('a failed node counts it down for what depends on it, as a new attempt', () => {
    const wf = stuck()
    settle(wf, 'b')
    expect(wf.attemptsAt('b')).toMatchObject([
      { execution: { attempt: 1 }, state: 'failed' },
      { execution: { attempt: 2, startedAt: null, owner: null }, state, outcome, reason: 'because' },
    ])
    expect(wf.counters).toEqual(new Map([['d', 1]]))
  })

  it('one of several failed nodes leaves the workflow paused for the others', () => {
    const wf = stuck()
    settle(wf, 'b')
    expect(wf.workflow).toMatchObject({ state: 'paused', pauseCause: 'exception', blockedBy: 'c' })
    settle(wf, 'c')
    expect(wf.workflow).toMatchObject({ state: 'ready', pauseCause: null, blockedBy: null })
    expect(wf.standing).toBe('d scheduled')
    expect(wf.rowOf('d').ancestry.parents).toHaveLength(2)
  })

  it('the last node that keeps a workflow from its end ends it', () => {
    const wf = new PlayedWorkflow(graphOf({ a: '', b: '' }))
    wf.report(['a', failing])
    wf.complete('b')
    settle(wf, 'a')
    expect(wf.workflow.state).toBe('finished')
    expect(wf.events.filter(event => event.startsWith('workflow.'))).toEqual(['workflow.paused', 'workflow.finished'])
  })

  it.each(['scheduled', 'suspended', 'waiting'] as const)('a node that is %s ends its row', idle => {
    const active = [idleRowOf('b', { state: idle }), idleRowOf('c')]
    const wf = new PlayedWorkflow(diamond)
    wf.complete('a')
    for (const item of active) wf.rows.set(item.slot, item)
    settle(wf, 'b')
    expect(wf.attemptsAt('b')).toMatchObject([{ state, outcome }])
    expect(wf.standing).toBe('c scheduled')
  })

  it('a node while another branch has failed pauses the workflow when nothing goes on any more', () => {
    const wf = new PlayedWorkflow(diamond)
    wf.complete('a')
    wf.report(['b', failing])
    expect(wf.workflow.state).toBe('ready')
    settle(wf, 'c')
    expect(wf.workflow).toMatchObject({ state: 'paused', pauseCause: 'exception', blockedBy: 'b' })
  })

  it('a node of a workflow that a person has paused leaves it paused, with what follows held', () => {
    const wf = new PlayedWorkflow(diamond)
    wf.complete('a')
    wf.report(['b', failing])
    pause(wf)
    settle(wf, 'c')
    settle(wf, 'b')
    expect(wf.workflow).toMatchObject({ state: 'paused', pauseCause: 'request', blockedBy: null })
    expect(wf.standing).toBe('d paused')
  })

  it('every node that is left of a paused workflow ends it', () => {
    const wf = new PlayedWorkflow(graphOf({ a: '', b: '' }))
    pause(wf)
    settle(wf, 'a')
    expect(wf.workflow.state).toBe('paused')
    settle(wf, 'b')
    expect(wf.workflow.state).toBe('finished')
  })

  it('a running node, one that is done or one that is not due is refused', () => {
    const wf = new PlayedWorkflow(diamond)
    wf.complete('a')
    wf.begin('b')
    expect(() => settle(wf, 'b')).toThrow('The step is running; wait for it, or cancel the workflow.')
    expect(() => settle(wf, 'a')).toThrow('It is completed; the workflow stands at b (in_progress), c (scheduled).')
    expect(() => settle(wf, 'd')).toThrow('It is not due yet; the workflow stands at b (in_progress), c (scheduled).')
    expect(() => settle(wf, 'x')).toThrow('There is no step of that name.')
  })

  it('a node of a workflow with many branches names a few of them in a refusal', () => {
    const active = ['b', 'c', 'd', 'e', 'f', 'g'].map(name => idleRowOf(name))
    const wf = new PlayedWorkflow(graphOf({ b: '', c: '', d: '', e: '', f: '', g: '', z: 'b' }))
    for (const item of active) wf.rows.set(item.slot, item)
    expect(() => settle(wf, 'z')).toThrow(/stands at b .*, f \(scheduled\)\.$/)
  })
})

describe('to resolve', () => {
  it('keeps what the step would have returned', () => {
    const wf = stuck()
    resolve(wf, 'b', '{"by":"hand"}')
    expect(wf.attemptsAt('b').at(-1)).toMatchObject({ output: '{"by":"hand"}' })
    const idle = new PlayedWorkflow(diamond)
    resolve(idle, 'a', '1')
    expect(idle.attemptsAt('a')).toMatchObject([{ state: 'completed', outcome: 'resolved', output: '1' }])
    expect(idle.standing).toBe('b scheduled, c scheduled')
  })
})

describe('to reattempt', () => {
  it('a failed node gives it a new attempt with fresh counters, while others go on', () => {
    const wf = new PlayedWorkflow(diamond)
    wf.complete('a')
    wf.report(['b', threw({ action: 'reattempt' })])
    wf.report(['b', failing])
    reattempt(wf, 'b')
    expect(wf.rowOf('b')).toMatchObject({ attempt: 3, state: 'scheduled', failures: 0, crashes: 0 })
    expect(wf.workflow).toMatchObject({ state: 'ready', blockedBy: null })
    wf.complete('b', 'c')
    expect(wf.standing).toBe('d scheduled')
  })

  it('a step that gave itself up with `this.pause()` lets the workflow go on', () => {
    const wf = new PlayedWorkflow(diamond)
    const pausing: StepReport = { kind: 'pause', hold: false, reason: null }
    wf.report(['a', pausing])
    reattempt(wf, 'a')
    expect(wf.workflow).toMatchObject({ state: 'ready', pauseCause: null })
    expect(wf.standing).toBe('a scheduled')
  })

  it('one of several failed nodes holds it until the others are settled too', () => {
    const wf = stuck()
    reattempt(wf, 'b')
    expect(wf.standing).toBe('b paused')
    expect(wf.workflow).toMatchObject({ state: 'paused', pauseCause: 'exception', blockedBy: 'c' })
    reattempt(wf, 'c')
    expect(wf.standing).toBe('b scheduled, c scheduled')
    expect(wf.workflow).toMatchObject({ state: 'ready', blockedBy: null })
  })

  it('a node of a workflow that a person has paused holds it', () => {
    const wf = new PlayedWorkflow(diamond)
    wf.report(['a', failing])
    wf.workflow = { ...wf.workflow, pauseCause: 'request' }
    reattempt(wf, 'a')
    expect(wf.standing).toBe('a paused')
    expect(wf.workflow).toMatchObject({ state: 'paused', pauseCause: 'request' })
  })

  it('goes on where the attempt before was, and starts another child', () => {
    const withChild = graphOf({ a: '', b: 'a', c: 'a', d: 'b c' }, { b: { kind: 'child' } })
    const situation = facts({ latest: [...done('a'), latest({ node: 'b', input: '5', progress: halfway })] })
    const change = decidedOn(situation, withChild, (draft, plan) => decideReattempt(draft, 'b', asked, plan))
    expect(change.insertions).toMatchObject([{ node: 'b', attempt: 2, input: null, progress: halfway }])
  })

  it.each([
    ['ended well', facts({ latest: done('a') }), 'It is completed.'],
    ['has not begun', facts({ latest: done('a') }), 'It is not due yet.', 'd'],
    ['is scheduled', facts({ active: [idleRowOf('a')], latest: [] }), 'Its attempt 1 has not ended (scheduled).'],
    ['runs', facts({ active: [rowOf('a')], latest: [] }), 'Its attempt 1 has not ended (in_progress).'],
    [
      'was skipped',
      facts({ latest: [latest({ state: 'skipped', outcome: 'skipped_by_exception' })] }),
      'It is skipped.',
    ],
    ['does not exist', facts({ latest: [] }), 'There is no step of that name.', 'x'],
    ['is of a workflow that ends', facts({ state: 'rolling_back', latest: [latest()] }), 'It is ending or has ended.'],
  ])('a node that %s is refused', (_, situation, remedy, node = 'a') => {
    const asking = () => decidedOn(situation, diamond, (draft, plan) => decideReattempt(draft, node, asked, plan))
    expect(asking).toThrow(expect.objectContaining({ code: 'INVALID_STATE', message: expect.stringContaining(remedy) }))
  })

  it.each([
    ['runs', facts({ active: [rowOf('d')], latest: [latest({ node: 'b' })] })],
    ['is suspended', facts({ active: [rowOf('d', { state: 'suspended' })], latest: [latest({ node: 'b' })] })],
    ['waits', facts({ active: [rowOf('d', { state: 'waiting' })], latest: [latest({ node: 'b' })] })],
    ['has ended', facts({ latest: [latest({ node: 'b' }), ...done('d')] })],
  ])('a node is refused when something after it %s', (_, situation) => {
    const asking = () => decidedOn(situation, diamond, (draft, plan) => decideReattempt(draft, 'b', asked, plan))
    expect(asking).toThrow('cannot reattempt step b of it. Step d, which comes after it, has started.')
  })

  it.each(['scheduled', 'paused'] as const)('a node is allowed while what comes after it is only %s', state => {
    const situation = facts({ active: [idleRowOf('d', { state })], latest: [latest({ node: 'b' })] })
    const change = decidedOn(situation, diamond, (draft, plan) => decideReattempt(draft, 'b', asked, plan))
    expect(begun(change)).toEqual(['b 2 scheduled'])
  })
})

describe('a renamed node', () => {
  const before = graphOf({ a: '', old: 'a', c: 'a' })
  const after = graphOf({ a: '', now: 'a', c: 'a' }, {}, { old: 'now' })

  function failed(): PlayedWorkflow {
    const wf = new PlayedWorkflow(before)
    wf.complete('a')
    wf.report(['old', failing])
    wf.deploy(after)
    return wf
  }

  it.each(['old', 'now'])('is settled by its name %s', name => {
    const wf = failed()
    skip(wf, name)
    expect(wf.attemptsAt('now')).toMatchObject([{ execution: { attempt: 2 }, state: 'skipped' }])
    wf.complete('c')
    expect(wf.workflow.state).toBe('finished')
  })

  it.each(['old', 'now'])('is reattempted by its name %s, under the present one', name => {
    const wf = failed()
    reattempt(wf, name)
    expect(wf.rowOf('now')).toMatchObject({ attempt: 2, slot: 'now' })
    expect(() => reattempt(wf, 'old')).toThrow('Its attempt 2 has not ended')
    wf.complete('now', 'c')
    expect(wf.workflow.state).toBe('finished')
  })

  it('that failed under its former name and was done since is not run again by a resume', () => {
    const wf = failed()
    reattempt(wf, 'old')
    wf.complete('now')
    wf.report(['c', failing])
    expect(wf.workflow.state).toBe('paused')
    resume(wf)
    expect(wf.standing).toBe('c scheduled')
  })

  it('that failed under its former name and was done since does not keep the workflow from its end', () => {
    const wf = failed()
    reattempt(wf, 'old')
    wf.complete('now')
    pause(wf)
    skip(wf, 'c')
    expect(wf.workflow.state).toBe('finished')
    expect(() => reattempt(wf, 'old')).toThrow('It is ending or has ended.')
  })
})

it('a workflow that a person has paused and a step has declared finished stays so when a node is skipped', () => {
  const wf = new PlayedWorkflow(graphOf({ a: '', b: '', c: '' }))
  wf.begin('a')
  pause(wf)
  wf.report(['a', { kind: 'finish', output: null, reason: null }])
  skip(wf, 'b')
  expect(wf.workflow).toMatchObject({ state: 'paused', pauseCause: 'finishing' })
  expect(wf.standing).toBe('c paused')
})

describe('a resumable step that has paused the workflow', () => {
  const holding: StepReport = { kind: 'pause', hold: true, reason: null }

  it('stays held when a node of another branch is skipped', () => {
    const wf = new PlayedWorkflow(diamond)
    wf.complete('a')
    wf.report(['b', holding])
    expect(wf.standing).toBe('b paused, c paused')
    skip(wf, 'c')
    expect(wf.workflow).toMatchObject({ state: 'paused', pauseCause: 'flow_control' })
    expect(wf.standing).toBe('b paused')
  })

  it('lets the workflow go on when it is skipped itself', () => {
    const wf = new PlayedWorkflow(diamond)
    wf.complete('a')
    wf.report(['b', holding])
    skip(wf, 'b')
    expect(wf.workflow).toMatchObject({ state: 'ready', pauseCause: null })
    expect(wf.standing).toBe('c scheduled')
  })
})

it('a refusal changes nothing', () => {
  const wf = stuck()
  const before = { workflow: wf.workflow, story: wf.story, counters: [...wf.counters] }
  expect(() => skip(wf, 'a')).toThrow('It is completed.')
  expect(() => reattempt(wf, 'a')).toThrow('It is completed.')
  expect({ workflow: wf.workflow, story: wf.story, counters: [...wf.counters] }).toEqual(before)
  expect(endings(decidedOn(facts({ state: 'paused' }), diamond, () => {}))).toEqual([])
})
