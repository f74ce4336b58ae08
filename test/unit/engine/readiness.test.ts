/** Every condition of readiness, one row each: what holds, what does not, and what is said of it. */

import { describe, expect, it } from 'vitest'
import { markChild } from '../../../src/engine/stored-input.ts'
import type { StandingEnd } from '../../../src/store/readiness-facts.ts'
import { chain, diamond, graphOf, idleRowOf, row, rowOf, stopTimer } from './facts.ts'
import { ableWorker, doneEnd, endOf, minute, noon, readiness, type Standing, standingOf, told } from './standings.ts'

const due = { dueAt: noon - 7 * minute }
const later = { dueAt: noon + 3 * minute }
const minutes = (count: number) => new Date(noon / 1000 + count * 60_000)
const graph = graphOf({ a: '', b: 'a' })

/** What is told of the chain a, b. */
function toldOf(standing: Standing, around: Parameters<typeof readiness>[2] = {}): string {
  return told(readiness(standingOf(standing), graph, around))
}

describe('a node is ready', () => {
  const active = [idleRowOf('a', due)]

  it.each([
    ['scheduled and due', active, 'a ready, b dependencies'],
    ['due this very microsecond', [idleRowOf('a', { dueAt: noon })], 'a ready, b dependencies'],
    ['suspended and due', [idleRowOf('a', { ...due, state: 'suspended' })], 'a ready, b dependencies'],
    ['not due for a microsecond yet', [idleRowOf('a', { dueAt: noon + 1 })], 'a time, b dependencies'],
    ['tried again, and due', [idleRowOf('a', { ...due, failures: 2, attempt: 3 })], 'a ready, b dependencies'],
    ['tried again later', [idleRowOf('a', { ...later, failures: 2, attempt: 3 })], 'a backoff, b dependencies'],
    ['repeated by itself later', [idleRowOf('a', { ...later, attempt: 2 })], 'a time, b dependencies'],
    ['run by a worker', [rowOf('a')], 'a claimed, b dependencies'],
    ['waiting for what is not known here', [idleRowOf('a', { state: 'waiting' })], 'a outside, b dependencies'],
  ])('or not: %s', (_, rows, expected) => {
    expect(toldOf({ active: rows })).toBe(expected)
  })

  it('only while its workflow goes on', () => {
    expect(toldOf({ workflow: { state: 'paused' }, active: [idleRowOf('a', { ...due, state: 'paused' })] })).toBe(
      'a paused, b paused+dependencies',
    )
    expect(toldOf({ workflow: { state: 'paused' }, active: [idleRowOf('a', { ...later, state: 'paused' })] })).toBe(
      'a paused+time, b paused+dependencies',
    )
    expect(toldOf({ workflow: { state: 'paused' }, active: [rowOf('a')] }), 'what runs goes on').toBe(
      'a claimed, b paused+dependencies',
    )
    expect(toldOf({ workflow: { state: 'rolling_back' }, active: [rowOf('a'), stopTimer] })).toBe(
      'a stopping+claimed, b stopping+dependencies',
    )
    expect(toldOf({ workflow: { finishing: true }, active: [rowOf('a')] })).toBe(
      'a stopping+claimed, b stopping+dependencies',
    )
    expect(toldOf({ workflow: { state: 'canceled' }, latest: [doneEnd('a')] })).toBe('a done, b ended')
  })

  it('only with a live worker that has its code and serves its queue', () => {
    expect(toldOf({ active }, { workers: [] })).toBe('a no_worker, b dependencies')
    expect(toldOf({ active }, { workers: [{ ...ableWorker, alive: false }] })).toBe('a no_worker, b dependencies')
    expect(toldOf({ active }, { workers: [{ ...ableWorker, handlers: ['Other'] }] })).toBe(
      'a no_worker, b dependencies',
    )
    const elsewhere = { ...ableWorker, serves: { queues: ['mail'], generations: { Sample: 3 } } }
    expect(toldOf({ active }, { workers: [elsewhere] })).toBe('a no_worker, b dependencies')
    const older = { ...ableWorker, serves: { queues: ['default'], generations: { Sample: 1 } } }
    expect(toldOf({ active }, { workers: [older] })).toBe('a no_worker, b dependencies')
    expect(toldOf({ active }, { workers: [older, { ...ableWorker, id: 'newer' }] })).toBe('a ready, b dependencies')
    expect(toldOf({ active }, { workers: [{ ...ableWorker, serves: null }] }), 'it has not said').toBe(
      'a ready, b dependencies',
    )
    expect(toldOf({ active: [idleRowOf('a', later)] }, { workers: [] }), 'nobody is needed yet').toBe(
      'a time, b dependencies',
    )
  })
})

describe('a node that depends on others', () => {
  const ends: readonly (readonly [string, Partial<StandingEnd>, boolean])[] = [
    ['completed', { state: 'completed', outcome: 'success' }, true],
    ['resolved by hand', { state: 'completed', outcome: 'resolved' }, true],
    ['skipped', { state: 'skipped', outcome: 'skipped_by_condition' }, true],
    ['left out', { state: 'skipped', outcome: 'not_taken' }, true],
    ['failed', {}, false],
    ['canceled by its own pause', { state: 'canceled', outcome: 'canceled_by_flow_control' }, false],
    ['repeated by itself', { state: 'completed', outcome: 'reattempted' }, false],
  ]

  it.each(ends)('may begin or not when its parent was %s', (_, end, satisfied) => {
    const [, b] = readiness(standingOf({ latest: [endOf('a', end)] }), graph)
    expect(b?.openParents).toEqual(satisfied ? [] : ['a'])
    expect(b?.reasons.map(({ kind }) => kind)).toEqual([satisfied ? 'not_scheduled' : 'dependencies'])
  })

  it('names the parents that are open, also those that are tried again', () => {
    const active = [idleRowOf('b', { ...later, attempt: 2, failures: 1 }), rowOf('c')]
    const nodes = readiness(standingOf({ active, latest: [doneEnd('a'), endOf('b')] }), diamond)
    expect(told(nodes)).toBe('a done, b backoff, c claimed, d dependencies')
    expect(nodes[3]).toMatchObject({ openParents: ['b', 'c'], reasons: [{ open: ['b', 'c'] }] })
  })
})

describe('a node that has failed', () => {
  const causes: readonly (readonly [string, Partial<StandingEnd>, number | null | undefined])[] = [
    ['attempts_exhausted', { attempt: 3 }, 3],
    ['not_retryable', { attempt: 2 }, 3],
    ['not_retryable', { attempt: 3, error: { className: 'PermanentError', message: 'no' } }, 3],
    ['not_retried', {}, null],
    ['not_retried', {}, undefined],
    ['crash_limit', { outcome: 'recovered', attempt: 3 }, 3],
    ['paused_itself', { state: 'canceled', outcome: 'canceled_by_flow_control', error: null }, 3],
  ]

  it.each(causes)('says why nothing follows: %s', (why, end, attempts) => {
    const standing = standingOf({ latest: [endOf('a', end)] })
    const [a] = readiness(standing, graph, { attemptsOf: () => attempts })
    expect(a?.reasons).toMatchObject([{ kind: 'failed', why, attempt: end.attempt ?? 1, at: minutes(-1) }])
    expect(a).toMatchObject({ attemptsLeft: 0, retryable: why !== 'not_retryable', ready: false })
  })

  it('is over once it has another row, or its workflow has ended', () => {
    expect(toldOf({ latest: [endOf('a')], active: [idleRowOf('a', { ...due, attempt: 2 })] })).toBe(
      'a ready, b dependencies',
    )
    expect(toldOf({ workflow: { state: 'canceled' }, latest: [endOf('a')] })).toBe('a ended, b ended')
    const stopped = endOf('a', { state: 'skipped', outcome: 'stopped' })
    expect(toldOf({ workflow: { state: 'rolling_back' }, latest: [stopped] })).toBe(
      'a stopping, b stopping+dependencies',
    )
  })
})

describe('what is said besides', () => {
  it.each([
    [3, 0, 3],
    [3, 2, 1],
    [3, 5, 0],
    [null, 0, 1],
    [null, 1, null],
    [undefined, 0, null],
  ])('with %s attempts after %s failures, attempts left: %s', (attempts, failures, left) => {
    const standing = standingOf({ active: [idleRowOf('a', { ...due, failures })] })
    const [a] = readiness(standing, graph, { attemptsOf: () => attempts })
    expect(a).toMatchObject({ attemptsLeft: left, failures })
  })

  it('who runs it, on which host, and whether that worker is still heard of', () => {
    const running = standingOf({ active: [rowOf('a', { startedAt: noon - minute })] })
    const [a] = readiness(running, graph)
    expect(a).toMatchObject({ claimedBy: 'worker', attempt: 1, state: 'in_progress', dueAt: expect.any(Date) })
    expect(a?.reasons).toEqual([{ kind: 'claimed', worker: 'worker', host: 'host-1', since: minutes(-1), alive: true }])
    const [silent] = readiness(running, graph, { workers: [{ ...ableWorker, alive: false }] })
    expect(silent?.reasons).toMatchObject([{ host: 'host-1', alive: false }])
    const [gone] = readiness(running, graph, { workers: [] })
    expect(gone?.reasons).toMatchObject([{ host: null, alive: false }])
  })

  it('until when it waits, after which failure, and with which error', () => {
    const active = [idleRowOf('a', { ...later, attempt: 3, failures: 2 })]
    const standing = standingOf({ active, latest: [endOf('a', { attempt: 2 })] })
    const [a] = readiness(standing, graph, { attemptsOf: () => 5 })
    const error = { className: 'Error', message: 'broken' }
    expect(a?.reasons).toEqual([{ kind: 'backoff', failures: 2, attempts: 5, until: minutes(3), error }])
    const [plain] = readiness(standingOf({ active: [idleRowOf('a', later)] }), graph)
    expect(plain?.reasons).toEqual([{ kind: 'time', until: minutes(3) }])
  })

  it('since when nobody could run it: since it fell due, or since the last one fell silent', () => {
    const standing = standingOf({ active: [idleRowOf('a', due)] })
    const wanted = { kind: 'no_worker', handler: 'Sample', queue: 'default', generation: 2 }
    const [never] = readiness(standing, graph, { workers: [] })
    expect(never?.reasons).toEqual([{ ...wanted, since: minutes(-7) }])
    const silent = { ...ableWorker, alive: false, leaseUntil: noon - 2 * minute }
    const [lately] = readiness(standing, graph, { workers: [silent, { ...silent, leaseUntil: noon - 5 * minute }] })
    expect(lately?.reasons).toEqual([{ ...wanted, since: minutes(-2) }])
  })

  it('who has paused the workflow, why and when', () => {
    const workflow = { state: 'paused', pauseCause: 'request', pausedAt: noon - minute } as const
    const change = { at: noon - minute, by: 'ann', reason: 'lunch' }
    const held = idleRowOf('a', { ...due, state: 'paused', heldFrom: 'scheduled' })
    const [a] = readiness(standingOf({ workflow, change, active: [held] }), graph)
    expect(a?.reasons).toEqual([{ kind: 'paused', cause: 'request', by: 'ann', reason: 'lunch', since: minutes(-1) }])
  })

  it('until when a step may take to stop', () => {
    const timer = { ...stopTimer, dueAt: noon + minute }
    const [a] = readiness(standingOf({ workflow: { state: 'rolling_back' }, active: [rowOf('a'), timer] }), graph)
    expect(a?.reasons[0]).toEqual({ kind: 'stopping', how: 'canceling', until: minutes(1) })
    const [b] = readiness(standingOf({ workflow: { finishing: true }, active: [rowOf('a')] }), graph)
    expect(b?.reasons[0]).toEqual({ kind: 'stopping', how: 'finishing', until: null })
  })

  it('which workflow a node waits for, and how that one stands where it is its own', () => {
    const waiting = (input: string) => idleRowOf('a', { state: 'waiting', input })
    const children = new Map([['12', { id: '12', type: 'Shipping', state: 'paused' as const }]])
    const [own] = readiness(
      standingOf({ active: [waiting(markChild({ workflowId: '12', isOwn: true }))], children }),
      graph,
    )
    expect(own?.reasons).toEqual([{ kind: 'child', workflowId: '12', type: 'Shipping', state: 'paused' }])
    const [other] = readiness(
      standingOf({ active: [waiting(markChild({ workflowId: '13', isOwn: false }))], children }),
      graph,
    )
    expect(other?.reasons).toEqual([{ kind: 'child', workflowId: '13', type: null, state: null }])
  })
})

describe('items', () => {
  const each = graphOf({ a: '', f: 'a' }, { f: { kind: 'each', concurrency: 2 } })
  const owner = idleRowOf('f', { state: 'waiting' })

  it('stand behind their node as long as they are not done, in order', () => {
    const active = [
      owner,
      idleRowOf('f/10', { state: 'waiting' }),
      rowOf('f/2'),
      idleRowOf('f/9', { ...due, attempt: 2, failures: 1 }),
    ]
    const latest = [doneEnd('a'), doneEnd('f/0'), endOf('f/1'), endOf('f/9')]
    const nodes = readiness(standingOf({ active, latest, fanIns: { f: 4 } }), each)
    expect(told(nodes)).toBe('a done, f items, f/1 failed, f/2 claimed, f/9 ready, f/10 place')
    expect(nodes[1]?.reasons).toEqual([{ kind: 'items', open: 4 }])
    expect(nodes[5]?.reasons).toEqual([{ kind: 'place', limit: 2 }])
  })

  it('do not matter any more once their node is settled without them', () => {
    expect(told(readiness(standingOf({ latest: [doneEnd('a'), doneEnd('f'), endOf('f/1')] }), each))).toBe(
      'a done, f done',
    )
  })
})

describe('code that has changed', () => {
  it('finds nodes under their former names', () => {
    const renamed = graphOf({ a: '', c: 'a', d: 'c' }, {}, { b: 'c' })
    expect(told(readiness(standingOf({ latest: [doneEnd('a')], active: [idleRowOf('b', due)] }), renamed))).toBe(
      'a done, c ready, d dependencies',
    )
    expect(told(readiness(standingOf({ latest: [doneEnd('a'), doneEnd('b')] }), renamed))).toBe(
      'a done, c done, d not_scheduled',
    )
    const both = [doneEnd('a'), doneEnd('c'), endOf('b')]
    expect(told(readiness(standingOf({ latest: both }), renamed)), 'the present name counts').toBe(
      'a done, c done, d not_scheduled',
    )
  })

  it('shows what the code has lost, while somebody has to settle it', () => {
    const lost = standingOf({
      latest: [doneEnd('a'), doneEnd('gone')],
      active: [row({ node: 'old', ...due, state: 'scheduled', owner: null })],
    })
    const nodes = readiness(lost, chain('a', 'b'))
    expect(told(nodes)).toBe('a done, b not_scheduled, old lost')
    expect(nodes[2]).toMatchObject({ kind: null, name: 'old', state: 'scheduled', attemptsLeft: null })
    expect(told(readiness(standingOf({ latest: [doneEnd('a'), endOf('old')] }), chain('a', 'b')))).toBe(
      'a done, b not_scheduled, old lost+failed',
    )
  })
})
