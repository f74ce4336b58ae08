/** Dead letters where several branches are under way: what goes on when one is handled, and that none outlives its workflow. */
import { expect, it } from 'vitest'
import { decideRequeue } from '../../../src/engine/dead-letters.ts'
import {
  decidePause,
  decideReattempt,
  decideResolve,
  decideResume,
  decideSkip,
} from '../../../src/engine/decide-request.ts'
import type { StepReport } from '../../../src/engine/step-report.ts'
import { diamond, graphOf, threw } from './facts.ts'
import { PlayedWorkflow } from './played-workflow.ts'

const asked = { by: 'ann', reason: 'because' }
const failing = threw({ action: 'pause' })
const givingUp = threw({ action: 'dlq' })
const finish: StepReport = { kind: 'finish', output: null, reason: null }
const cancel: StepReport = { kind: 'cancel', by: 'flow_control', reason: null }

const pause = (wf: PlayedWorkflow) => wf.ask(draft => decidePause(draft, asked))
const resume = (wf: PlayedWorkflow) => wf.ask((draft, plan) => decideResume(draft, asked, plan))
const skip = (wf: PlayedWorkflow, node: string) => wf.ask((draft, plan) => decideSkip(draft, node, asked, plan))
const resolve = (wf: PlayedWorkflow, node: string) =>
  wf.ask((draft, plan) => decideResolve(draft, { node, request: asked, output: null }, plan))
const reattempt = (wf: PlayedWorkflow, node: string) =>
  wf.ask((draft, plan) => decideReattempt(draft, node, asked, plan))

function requeue(wf: PlayedWorkflow, node: string): void {
  const letter = [...wf.letters.values()].findLast(one => one.node === node)
  wf.ask((draft, plan) => decideRequeue(draft, { letterId: letter?.id ?? '', request: asked, input: null }, plan))
}

const three = graphOf({ a: '', b: '', c: '' })

/** Of three branches one has been given up, while the others run. */
function givenUp(): PlayedWorkflow {
  const wf = new PlayedWorkflow(three)
  for (const node of ['a', 'b', 'c']) wf.begin(node)
  wf.report(['a', givingUp])
  return wf
}

/** Two of three branches have been given up, and one is to be tried again while the third runs. */
function oneLeft(): PlayedWorkflow {
  const wf = givenUp()
  wf.report(['b', givingUp])
  requeue(wf, 'b')
  return wf
}

it('a workflow whose letter is requeued is paused when another node that has failed is left', () => {
  const wf = new PlayedWorkflow(diamond)
  wf.complete('a')
  wf.begin('c')
  wf.report(['b', failing])
  wf.report(['c', givingUp])
  requeue(wf, 'c')
  wf.complete('c')
  expect(wf.workflow).toMatchObject({ state: 'paused', pauseCause: 'exception', blockedBy: 'b' })
})

it('nothing new is due in a workflow that a step has declared finished in the DLQ', () => {
  const wf = new PlayedWorkflow(graphOf({ a: '', b: '', c: '', d: 'a' }))
  for (const node of ['a', 'b', 'c']) wf.begin(node)
  wf.report(['a', givingUp])
  wf.report(['b', finish])
  skip(wf, 'a')
  expect(wf.workflow).toMatchObject({ state: 'paused', pauseCause: 'finishing', openLetters: 0 })
  expect(wf.standing).toBe('c in_progress')
  resume(wf)
  expect(wf.workflow).toMatchObject({ state: 'ready', finishing: true })
  wf.complete('c')
  expect(wf.workflow.state).toBe('finished')
})

it('no letter is left open while a workflow that was declared finished waits for what runs', () => {
  const wf = oneLeft()
  wf.report(['b', finish])
  expect(wf.workflow).toMatchObject({ state: 'ready', finishing: true, openLetters: 0 })
  expect(wf.mail).toBe('a discarded, b requeued')
})

it.each([
  ['finish', finish, 'finished'],
  ['cancel', cancel, 'canceled'],
  ['cancel by a policy', threw({ action: 'cancel' }), 'canceled'],
] as const)('no letter is left open when a step ends the workflow: %s', (_, report, state) => {
  const wf = oneLeft()
  wf.report(['b', report])
  wf.complete('c')
  expect(wf.workflow).toMatchObject({ state, openLetters: 0 })
  expect(wf.mail).toBe('a discarded, b requeued')
})

it('no letter is left open when a step ends the workflow in the same transaction', () => {
  const wf = new PlayedWorkflow(graphOf({ a: '', b: '' }))
  wf.report(['a', givingUp], ['b', cancel])
  expect(wf.workflow).toMatchObject({ state: 'canceled', openLetters: 0 })
  expect(wf.mail).toBe('a discarded')
})

it('a workflow that is resumed with nothing but a dead step goes back to the DLQ', () => {
  const wf = oneLeft()
  wf.complete('c')
  pause(wf)
  skip(wf, 'b')
  resume(wf)
  expect(wf.workflow).toMatchObject({ state: 'dlq', openLetters: 1 })
  expect(wf.standing).toBe('a paused')
})

it.each([
  ['skip', skip, 'skipped'],
  ['resolve', resolve, 'completed'],
] as const)('the letters of items are closed with their node: %s', (_, settle, state) => {
  const wf = new PlayedWorkflow(graphOf({ a: '', b: 'a' }, { a: { kind: 'each' } }))
  wf.report(['a', { kind: 'items', items: ['1', '2'] }])
  wf.report(['a/0', givingUp])
  settle(wf, 'a')
  expect(wf.attemptsAt('a').at(-1)).toMatchObject({ state })
  expect(wf.mail).toBe('a/0 discarded')
  expect(wf.workflow).toMatchObject({ state: 'ready', openLetters: 0 })
  expect(wf.standing).toBe('b scheduled')
})

it('to reattempt a dead step is to requeue its letter', () => {
  const wf = givenUp()
  reattempt(wf, 'a')
  expect(wf.workflow).toMatchObject({ state: 'ready', openLetters: 0, blockedBy: null })
  expect(wf.mail).toBe('a requeued')
  expect(wf.standing).toBe('a scheduled, b in_progress, c in_progress')
})

it('nothing is tried again in a paused workflow that a step has declared finished, whatever becomes of its worker', () => {
  const wf = new PlayedWorkflow(graphOf({ a: '', b: '', c: 'b' }))
  wf.begin('a')
  wf.begin('b')
  pause(wf)
  wf.report(['a', finish])
  wf.lose('b')
  expect(wf.attemptsAt('b')).toMatchObject([{ state: 'canceled', outcome: 'superseded' }])
  expect(wf.workflow).toMatchObject({ state: 'paused', pauseCause: 'finishing' })
  resume(wf)
  expect(wf.workflow.state).toBe('finished')
})

it('a step that runs on in a workflow which was declared finished while paused has a time to stop', () => {
  const wf = new PlayedWorkflow(graphOf({ a: '', b: '' }))
  wf.begin('a')
  wf.begin('b')
  pause(wf)
  wf.report(['a', finish])
  resume(wf)
  expect([...wf.rows.values()].filter(row => row.kind === 'timer')).toHaveLength(1)
})

/** Of a join that one branch is enough for, `a` has lost its worker so often that it was given up, while `b` runs. */
function crashedInBranch(edges: Readonly<Record<string, string>>, before = (_: PlayedWorkflow) => {}): PlayedWorkflow {
  const join = { kind: 'join', join: { rule: { atLeast: 1 }, branches: [['a'], ['b']] } } as const
  const wf = new PlayedWorkflow(
    graphOf({ f: '', a: 'f', b: 'f', j: 'a b', ...edges }, { f: { kind: 'fork' }, j: join }),
  )
  wf.complete('f')
  wf.begin('b')
  const running = wf.begin('a')
  wf.rows.set(running.slot, { ...running, crashes: 3 })
  before(wf)
  wf.lose('a')
  expect(wf.workflow.state).toBe('dlq')
  return wf
}

it('a workflow is not kept by the letter of a step that a join has gone on without', () => {
  const wf = crashedInBranch({ z: 'j' })
  wf.complete('b')
  expect(wf.workflow).toMatchObject({ state: 'ready', openLetters: 0, blockedBy: null })
  expect(wf.mail).toBe('a discarded')
  expect(wf.standing).toBe('z scheduled')
})

it('a workflow is not kept from its end by the letter of a step that its last join has gone on without', () => {
  const wf = crashedInBranch({})
  wf.complete('b')
  expect(wf.workflow).toMatchObject({ state: 'finished', openLetters: 0 })
})

it('what a person had paused stays paused when a join has gone on without the letter', () => {
  const wf = crashedInBranch({ z: 'j' }, pause)
  wf.complete('b')
  expect(wf.workflow).toMatchObject({ state: 'paused', pauseCause: 'request', openLetters: 0 })
  expect(wf.standing).toBe('z paused')
})

it('a letter of another branch keeps its workflow when a join has gone on without what was given up', () => {
  const wf = crashedInBranch({ c: 'f', z: 'j c' }, begun => begun.report(['c', givingUp]))
  wf.complete('b')
  expect(wf.workflow).toMatchObject({ state: 'dlq', openLetters: 1 })
  expect(wf.mail).toBe('c open, a discarded')
  expect(wf.standing).toBe('c paused')
})
