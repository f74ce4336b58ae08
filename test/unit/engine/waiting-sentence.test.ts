/** One sentence for every way in which a workflow can stand. */

import { expect, it } from 'vitest'
import { markChild } from '../../../src/engine/stored-input.ts'
import { waitingSentence } from '../../../src/engine/waiting-sentence.ts'
import { diamond, graphOf, idleRowOf, rowOf, stopTimer } from './facts.ts'
import { ableWorker, doneEnd, endOf, minute, noon, readiness, type Standing, standingOf } from './standings.ts'

const due = { dueAt: noon - 7 * minute }
const later = { dueAt: noon + 3 * minute }
const paused = { state: 'paused', pausedAt: noon - minute } as const

function sentenceOf(given: Standing, around: Parameters<typeof readiness>[2] = {}, graph = graphOf({ a: '', b: 'a' })) {
  const standing = standingOf(given)
  return waitingSentence(standing, readiness(standing, graph, around), noon)
}

const sentences: readonly (readonly [string, Standing, string])[] = [
  [
    'runs',
    { active: [rowOf('a', { startedAt: noon - minute, attempt: 2 })] },
    'Step a is run by worker worker on host-1 since 2026-01-01 11:59:00 UTC, attempt 2.',
  ],
  ['is due', { active: [idleRowOf('a', due)] }, 'Step a is due, and a worker will take it.'],
  [
    'has no worker',
    { active: [idleRowOf('a', { ...due, handler: 'Other' })] },
    'Step a has been due for 7 minutes, and no live worker has its code (Other, generation 2, queue default).',
  ],
  ['waits', { active: [idleRowOf('a', later)] }, 'Step a waits until 2026-01-01 12:03:00 UTC, for 3 minutes more.'],
  [
    'is tried again',
    { active: [idleRowOf('a', { ...later, failures: 2, attempt: 3 })], latest: [endOf('a', { attempt: 2 })] },
    'Step a is tried again at 2026-01-01 12:03:00 UTC, in 3 minutes, after failure 2 of 3: Error: broken.',
  ],
  [
    'is tried again by its policy, its retries being over',
    { active: [idleRowOf('a', { ...later, failures: 4, attempt: 3 })], latest: [endOf('a', { attempt: 2 })] },
    'Step a is tried again at 2026-01-01 12:03:00 UTC, in 3 minutes, because its policy says so: Error: broken.',
  ],
  [
    'tries a compensation again',
    {
      workflow: { state: 'rolling_back', rollback: { kind: 'failure', message: null, by: null, givenUp: false } },
      active: [idleRowOf('a', { ...later, kind: 'compensate', failures: 1, attempt: 2 })],
      latest: [doneEnd('a')],
      undo: endOf('a', { error: { className: 'Error', message: 'closed' } }),
    },
    'It is being rolled back; what undoes step a is tried again at 2026-01-01 12:03:00 UTC, in 3 minutes, after failure 1 of 3: Error: closed.',
  ],
  [
    'runs a compensation',
    {
      workflow: { state: 'rolling_back' },
      active: [rowOf('a', { kind: 'compensate', startedAt: null })],
      latest: [doneEnd('a')],
    },
    'It is being canceled; what undoes step a is run by worker worker on host-1.',
  ],
  [
    'waits for a child',
    {
      active: [idleRowOf('a', { state: 'waiting', input: markChild({ workflowId: '12', isOwn: true }) })],
      children: new Map([['12', { id: '12', type: 'Shipping', state: 'paused' }]]),
    },
    'Step a waits for workflow 12 (Shipping, paused).',
  ],
  [
    'waits for another workflow',
    { active: [idleRowOf('a', { state: 'waiting', input: markChild({ workflowId: '13', isOwn: false }) })] },
    'Step a waits for workflow 13.',
  ],
  [
    'waits for what is outside',
    { active: [idleRowOf('a', { state: 'waiting' })] },
    'Step a waits for something outside.',
  ],
  [
    'was paused by a person',
    {
      workflow: { ...paused, pauseCause: 'request' },
      change: { at: noon, by: 'ann', reason: 'the bank is closed.\nReally.' },
      active: [idleRowOf('a', { ...due, state: 'paused' })],
    },
    'It was paused at 2026-01-01 11:59:00 UTC by ann: the bank is closed.',
  ],
  [
    'was paused by nobody in particular, while a step runs',
    { workflow: { ...paused, pauseCause: 'request' }, active: [rowOf('a', { startedAt: null })] },
    'It was paused at 2026-01-01 11:59:00 UTC by somebody; step a is run by worker worker on host-1.',
  ],
  [
    'was paused by an exception',
    { workflow: { ...paused, pauseCause: 'exception' }, latest: [endOf('a', { attempt: 3 })] },
    'It was paused at 2026-01-01 11:59:00 UTC, because step a has failed at its last attempt, number 3: Error: broken.',
  ],
  [
    'was paused by an error that is not retried',
    { workflow: { ...paused, pauseCause: 'exception' }, latest: [endOf('a')] },
    'It was paused at 2026-01-01 11:59:00 UTC, because step a has failed at attempt 1 with an error that is not retried: Error: broken.',
  ],
  [
    'was paused by crashes',
    { workflow: { ...paused, pauseCause: 'exception' }, latest: [endOf('a', { outcome: 'recovered', error: null })] },
    'It was paused at 2026-01-01 11:59:00 UTC, because step a has lost its worker too often.',
  ],
  [
    'was paused by its own step',
    {
      workflow: { ...paused, pauseCause: 'flow_control' },
      change: { at: noon, by: null, reason: 'a holiday' },
      latest: [endOf('a', { state: 'canceled', outcome: 'canceled_by_flow_control', error: null })],
    },
    'It was paused at 2026-01-01 11:59:00 UTC by a step of its own: a holiday.',
  ],
  [
    'was declared finished while it was paused',
    { workflow: { ...paused, pauseCause: 'finishing' }, change: { at: noon, by: 'ann', reason: null } },
    'It was paused at 2026-01-01 11:59:00 UTC by ann, and finishes when it is resumed.',
  ],
  [
    'is being canceled',
    {
      workflow: { state: 'rolling_back' },
      change: { at: noon, by: 'ann', reason: 'a mistake' },
      active: [rowOf('a', { startedAt: null }), { ...stopTimer, dueAt: noon + minute }],
    },
    'It is being canceled by ann: a mistake; step a is run by worker worker on host-1; it is given until 2026-01-01 12:01:00 UTC to stop.',
  ],
  [
    'is being finished',
    { workflow: { finishing: true }, active: [rowOf('a', { startedAt: null })] },
    'It is finishing, and what still runs is waited for; step a is run by worker worker on host-1.',
  ],
  [
    'has finished',
    { workflow: { state: 'finished', endedAt: noon }, latest: [doneEnd('a'), doneEnd('b')] },
    'It finished at 2026-01-01 12:00:00 UTC.',
  ],
  [
    'was canceled',
    { workflow: { state: 'canceled', endedAt: noon }, change: { at: noon, by: 'ann', reason: 'no stock' } },
    'It was canceled at 2026-01-01 12:00:00 UTC by ann: no stock.',
  ],
  [
    'stands at a step that the code has lost',
    { active: [idleRowOf('old', due)] },
    'Step old is not in the code any more: bring it back, name it in `renamed`, or skip it.',
  ],
  [
    'has nothing scheduled',
    { latest: [doneEnd('a')] },
    'Nothing is scheduled; a worker that has its code brings it in line.',
  ],
]

it.each(sentences)('a workflow that %s', (_, given, sentence) => {
  expect(sentenceOf(given, { attemptsOf: () => 3 })).toBe(sentence)
})

it('a worker that has fallen silent', () => {
  const workers = [{ ...ableWorker, alive: false }]
  expect(sentenceOf({ active: [rowOf('a')] }, { workers })).toBe(
    'Step a was run by worker worker on host-1, which has fallen silent; another worker takes it over.',
  )
})

it('says what is most on the move first, how many more there are, and what somebody should see to', () => {
  const running = { active: [rowOf('b', { startedAt: null }), rowOf('c', { startedAt: null })], latest: [doneEnd('a')] }
  expect(sentenceOf(running, {}, diamond)).toBe('Step b is run by worker worker on host-1, and 1 more like it.')
  const besides = { active: [idleRowOf('c', later)], latest: [doneEnd('a'), endOf('b')] }
  expect(sentenceOf(besides, {}, diamond)).toBe(
    'Step c waits until 2026-01-01 12:03:00 UTC, for 3 minutes more; step b has failed at attempt 1: Error: broken.',
  )
  const sooner = [idleRowOf('b', { dueAt: noon + 9 * minute }), idleRowOf('c', later)]
  expect(sentenceOf({ active: sooner, latest: [doneEnd('a')] }, {}, diamond)).toContain('Step c waits')
})

it('counts the items that are not done', () => {
  const each = graphOf({ f: '' }, { f: { kind: 'each', concurrency: 1 } })
  const active = [idleRowOf('f', { state: 'waiting' }), idleRowOf('f/1', { state: 'waiting' })]
  expect(sentenceOf({ active, fanIns: { f: 2 } }, {}, each)).toBe('Step f waits for 2 of its items.')
})

it('stays one sentence, however long an error talks', () => {
  const error = { className: 'Error', message: `${'x'.repeat(500)}\nand more` }
  const said = sentenceOf({ latest: [endOf('a', { error })], workflow: { ...paused, pauseCause: 'exception' } })
  expect(said.length).toBeLessThan(330)
  expect(said).not.toContain('\n')
})
