/** A workflow whose graph has changed under it: what is new, gone, renamed or rewired, and where it stands then. */
import { describe, expect, it } from 'vitest'
import type { Graph } from '../../../src/definition/graph.ts'
import { decideDecision } from '../../../src/engine/decide-message.ts'
import { decidePause, decideResume, decideSkip } from '../../../src/engine/decide-request.ts'
import { heal, mustHeal } from '../../../src/engine/heal.ts'
import { isSatisfied } from '../../../src/engine/is-satisfied.ts'
import { markCame, markChild, markHeld } from '../../../src/engine/stored-input.ts'
import { noProgress } from '../../../src/store/records.ts'
import {
  chain,
  decided,
  done,
  facts,
  finished,
  graphOf,
  halfway,
  idleRowOf,
  latest,
  planFor,
  row,
  rowOf,
  threw,
} from './facts.ts'
import { PlayedWorkflow } from './played-workflow.ts'

const asked = { by: 'ann', reason: 'because' }
const failing = threw({ action: 'pause' })

const pause = (wf: PlayedWorkflow) => wf.ask(draft => decidePause(draft, asked))
const resume = (wf: PlayedWorkflow) => wf.ask((draft, plan) => decideResume(draft, asked, plan))
const skip = (wf: PlayedWorkflow, node: string) => wf.ask((draft, plan) => decideSkip(draft, node, asked, plan))

function played(before: Graph, ...completed: string[]): PlayedWorkflow {
  const wf = new PlayedWorkflow(before)
  for (const node of completed) wf.complete(node)
  return wf
}

describe('a node that was added', () => {
  it('behind the point reached runs when its turn comes', () => {
    const wf = played(chain('a', 'b'))
    wf.deploy(chain('a', 'x', 'b', 'y'))
    for (const node of ['a', 'x', 'b', 'y']) wf.complete(node)
    expect(wf.story).toBe('a completed, x completed, b completed, y completed')
    expect(wf.workflow).toMatchObject({ state: 'finished', generation: 2, crooked: false })
  })

  it('beside what runs begins as soon as anything ends, an entry as well as one whose parents have ended', () => {
    const wf = played(graphOf({ a: '', b: 'a', c: 'b' }), 'a')
    wf.deploy(graphOf({ a: '', b: 'a', c: 'b', x: 'a', y: '' }))
    wf.complete('b')
    expect(wf.standing).toBe('y scheduled, x scheduled, c scheduled')
  })

  it('before something that has started is left out, and said to be', () => {
    const wf = played(chain('a', 'b', 'c'), 'a')
    wf.begin('b')
    wf.deploy(chain('a', 'x', 'b', 'c'))
    wf.complete('b')
    expect(wf.attemptsAt('x')).toMatchObject([
      {
        state: 'skipped',
        outcome: 'not_taken',
        execution: { attempt: 1, startedAt: null, owner: null },
        reason: 'it was added behind the point that the workflow had reached',
      },
    ])
    expect(wf.events).toContain('step.skipped x')
    expect(wf.standing).toBe('c scheduled')
    wf.complete('c')
    expect(wf.workflow.state).toBe('finished')
  })

  it('behind one that was left out is left out too, unless it has another parent', () => {
    const wf = played(chain('a', 'b'), 'a')
    wf.begin('b')
    wf.deploy(graphOf({ a: '', x: 'a', b: 'x', y: 'x', z: 'x a' }))
    wf.complete('b')
    expect(wf.attemptsAt('y')).toMatchObject([{ outcome: 'not_taken' }])
    expect(wf.standing).toBe('z scheduled')
    // What was left out is no parent.
    expect(wf.rowOf('z').ancestry.parents).toEqual([wf.attemptsAt('a')[0]?.execution.id])
    wf.complete('z')
    expect(wf.workflow.state).toBe('finished')
  })

  it('before one that is only scheduled goes first, and that one is taken back until then', () => {
    const wf = played(graphOf({ a: '', b: 'a', p: 'a' }), 'a')
    wf.deploy(graphOf({ a: '', x: 'a', b: 'x', p: 'a' }))
    const early = wf.rowOf('b').id
    wf.complete('p')
    expect(wf.standing).toBe('x scheduled')
    expect(wf.events).toContain('step.withdrawn b')
    wf.complete('x')
    expect(wf.rowOf('b')).toMatchObject({ attempt: 1, state: 'scheduled' })
    expect(wf.rowOf('b').id).not.toBe(early)
    expect(wf.rowOf('b').ancestry.parents).toEqual([wf.attemptsAt('x')[0]?.execution.id])
    wf.complete('b')
    expect(wf.workflow.state).toBe('finished')
  })

  it('before one that is held takes it back as well, and is held in its stead', () => {
    const wf = played(chain('a', 'b'), 'a')
    pause(wf)
    wf.deploy(chain('a', 'x', 'b'))
    resume(wf)
    expect(wf.standing).toBe('x scheduled')
    wf.complete('x')
    wf.complete('b')
    expect(wf.story).toBe('a completed, x completed, b completed')
  })

  it('before one that has begun and stopped, or is on its second attempt, comes too late', () => {
    for (const begun of [
      { state: 'suspended' as const, progress: halfway },
      { state: 'paused' as const, heldFrom: 'suspended' as const },
      { attempt: 2 },
      { state: 'waiting' as const, kind: 'human' as const },
      { input: markCame({ came: 'decision', on: 'row-b' }), kind: 'human' as const },
      { input: markCame({ came: 'signal', id: '5' }), kind: 'signal' as const },
      { input: markCame({ came: 'nothing' }), state: 'paused' as const, kind: 'signal' as const },
      { input: markChild({ workflowId: '9', isOwn: true }), kind: 'child' as const },
      { input: markHeld('9'), kind: 'child' as const },
      // Claimed by code that is newer than the workflow, and given back, or given back in mid-call.
      { progress: halfway, kind: 'resumable' as const },
      { state: 'paused' as const, progress: halfway, kind: 'resumable' as const },
      { progress: { ...noProgress, runs: 1 }, kind: 'resumable' as const },
    ]) {
      const { kind = 'step' as const, ...more } = { kind: undefined, ...begun }
      const situation = facts({ generation: 2, active: [idleRowOf('b', more), rowOf('p')], latest: done('a') })
      const plan = planFor(graphOf({ a: '', x: 'a', b: 'x', p: 'a' }, { b: { kind } }), { heals: true })
      const change = decided(situation, draft => heal(draft, plan))
      expect(change.removals).toEqual([])
      expect(change.endings).toMatchObject([{ execution: { node: 'x' }, outcome: 'not_taken' }])
    }
  })

  it('before a resumable step that was only claimed, and given back unrun, is run first', () => {
    const resumable = (edges: Record<string, string>) => graphOf(edges, { b: { kind: 'resumable' } })
    const wf = played(resumable({ a: '', b: 'a' }), 'a')
    wf.begin('b')
    wf.deploy(resumable({ a: '', x: 'a', b: 'x' }))
    wf.report(['b', { kind: 'released', called: false }])
    expect(wf.standing).toBe('x scheduled')
  })

  it('before one that waited for people, and is a step by now, is run first: nobody has called that', () => {
    const waiting = idleRowOf('b', { state: 'waiting' })
    const situation = facts({ generation: 2, active: [waiting, rowOf('p')], latest: done('a') })
    const plan = planFor(graphOf({ a: '', x: 'a', b: 'x', p: 'a' }), { heals: true })
    const change = decided(situation, draft => heal(draft, plan))
    expect(change.removals).toEqual([{ slot: 'b' }])
    expect(change.insertions).toMatchObject([{ node: 'x', state: 'scheduled' }])
    expect(change.endings).toEqual([])
  })

  it('to a paused workflow is held', () => {
    const wf = played(graphOf({ a: '', b: '' }))
    wf.begin('a')
    pause(wf)
    wf.deploy(graphOf({ a: '', b: '', x: '', y: 'a' }))
    wf.complete('a')
    expect(wf.standing).toBe('b paused, x paused, y paused')
    resume(wf)
    expect(wf.standing).toBe('b scheduled, x scheduled, y scheduled')
  })

  it('behind the end of a workflow that is paused there keeps it from ending', () => {
    const wf = played(chain('a'))
    wf.begin('a')
    pause(wf)
    wf.complete('a')
    wf.deploy(chain('a', 'b'))
    resume(wf)
    expect(wf.workflow.state).toBe('ready')
    expect(wf.standing).toBe('b scheduled')
  })
})

describe('a node that was removed', () => {
  it('and has no row is dropped; what depended on it goes by its new parents', () => {
    const wf = played(chain('a', 'gone', 'b'))
    wf.deploy(chain('a', 'b'))
    wf.complete('a')
    expect(wf.standing).toBe('b scheduled')
    wf.complete('b')
    expect(wf.story).toBe('a completed, b completed')
    expect(wf.workflow).toMatchObject({ state: 'finished', crooked: false })
  })

  it('and had ended long since is of no interest', () => {
    const wf = played(chain('gone', 'a', 'b'), 'gone')
    wf.deploy(chain('a', 'b'))
    wf.complete('a')
    expect(wf.workflow.crooked).toBe(false)
    wf.complete('b')
    expect(wf.workflow.state).toBe('finished')
  })

  it('and has a row keeps its place: nothing new begins until somebody has settled it', () => {
    const wf = played(graphOf({ a: '', lost: 'a', p: 'a', q: 'p' }), 'a')
    wf.deploy(graphOf({ a: '', p: 'a', q: 'p', x: 'a' }))
    wf.complete('p')
    expect(wf.standing).toBe('lost scheduled')
    expect(wf.workflow).toMatchObject({ state: 'ready', crooked: true, generation: 2 })
    wf.report(['lost', failing])
    expect(wf.workflow).toMatchObject({ state: 'paused', pauseCause: 'exception', blockedBy: 'lost' })
    skip(wf, 'lost')
    expect(wf.workflow).toMatchObject({ state: 'ready', crooked: false, blockedBy: null })
    expect(wf.standing).toBe('x scheduled, q scheduled')
    wf.complete('q', 'x')
    expect(wf.workflow.state).toBe('finished')
    expect(wf.attemptsAt('x')).toHaveLength(1)
  })

  it.each(['scheduled', 'paused'] as const)('and is %s may be skipped before it fails', state => {
    const wf = played(chain('a', 'lost', 'b'), 'a')
    if (state === 'paused') pause(wf)
    wf.deploy(chain('a', 'b'))
    skip(wf, 'lost')
    expect(wf.standing).toBe(`b ${state}`)
    expect(wf.workflow.crooked).toBe(false)
  })

  it('and runs all the same lets the workflow go on when it completes', () => {
    const wf = played(chain('a', 'lost', 'b'), 'a')
    wf.begin('lost')
    wf.deploy(chain('a', 'b'))
    wf.complete('lost')
    expect(wf.standing).toBe('b scheduled')
    expect(wf.workflow).toMatchObject({ generation: 2, crooked: false })
  })

  it('as the last one ends the workflow once it is settled', () => {
    const wf = played(chain('a', 'lost'), 'a')
    wf.deploy(chain('a'))
    skip(wf, 'lost')
    expect(wf.workflow.state).toBe('finished')
  })

  it('and failed is tried again by a resume, by whoever has its code', () => {
    const wf = played(chain('a', 'lost', 'b'), 'a')
    wf.deploy(chain('a', 'b'))
    wf.report(['lost', failing])
    resume(wf)
    expect(wf.rowOf('lost')).toMatchObject({ attempt: 2, state: 'scheduled', generation: 0 })
    expect(wf.rows.size).toBe(1)
  })
})

describe('a node that was renamed', () => {
  const before = graphOf({ a: '', old: 'a', c: 'a', d: 'old c' })
  const after = graphOf(
    { a: '', now: 'a', c: 'a', d: 'now c' },
    { now: { queue: 'mail', priority: 5 } },
    { old: 'now' },
  )

  it('while it is scheduled goes on as the same attempt under its new name', () => {
    const wf = played(before, 'a')
    const { id, dueAt } = wf.rowOf('old')
    wf.deploy(after)
    wf.complete('c')
    expect(wf.rowOf('now')).toMatchObject({
      id,
      dueAt,
      attempt: 1,
      slot: 'now',
      queue: 'mail',
      priority: 5,
      generation: 2,
    })
    expect(wf.rows.size).toBe(1)
    expect(wf.events).toContain('step.renamed now')
    wf.complete('now')
    expect(wf.standing).toBe('d scheduled')
    expect(wf.rowOf('d').ancestry.parents).toHaveLength(2)
  })

  it('while it is suspended goes on where it was', () => {
    const wf = played(before, 'a')
    wf.rows.set('old', idleRowOf('old', { state: 'suspended', progress: halfway }))
    wf.deploy(after)
    wf.complete('c')
    expect(wf.rowOf('now')).toMatchObject({ state: 'suspended', progress: halfway })
  })

  it.each([
    ['suspend', 'suspended'],
    ['postpone', 'scheduled'],
  ] as const)('while old code says that it goes on later (%s) waits as long as that says', (kind, state) => {
    const running = rowOf('old')
    const situation = facts({ generation: 2, active: [running], latest: done('a', 'c') })
    const report = { kind, waitMs: 60_000, reason: null }
    const { change } = finished(situation, running, report, { plan: planFor(after, { heals: true }) })
    expect(change.insertions).toMatchObject([{ node: 'now', state, due: { inMs: 60_000 } }])
    expect(change.removals).toEqual([{ slot: 'old' }])
  })

  it('while it is held after it was suspended is suspended again, and ends under the name that it began with', () => {
    const wf = played(before, 'a')
    wf.rows.set('old', idleRowOf('old', { state: 'suspended', progress: halfway }))
    pause(wf)
    wf.deploy(after)
    resume(wf)
    expect(wf.rowOf('old')).toMatchObject({ state: 'suspended', progress: halfway })
    wf.complete('old', 'c')
    expect(wf.standing).toBe('d scheduled')
  })

  it('while it runs ends under the name that it began with, and what follows goes on', () => {
    const wf = played(before, 'a')
    wf.begin('old')
    wf.deploy(after)
    wf.complete('c')
    expect(wf.standing).toBe('old in_progress')
    expect(wf.workflow.crooked).toBe(false)
    wf.complete('old')
    expect(wf.standing).toBe('d scheduled')
    wf.complete('d')
    expect(wf.workflow.state).toBe('finished')
    expect(wf.story).toBe('a completed, c completed, old completed, d completed')
  })

  it('while it runs gets its next attempt under the new name', () => {
    const wf = played(before, 'a')
    wf.begin('old')
    wf.deploy(after)
    wf.report(['old', threw({ action: 'reattempt' })])
    expect(wf.rowOf('now')).toMatchObject({ attempt: 2, slot: 'now' })
    wf.complete('now', 'c')
    expect(wf.standing).toBe('d scheduled')
  })

  it('and had ended satisfies what depends on it', () => {
    const wf = played(before, 'a', 'old')
    wf.deploy(after)
    wf.complete('c')
    expect(wf.standing).toBe('d scheduled')
    expect(wf.rowOf('d').ancestry.parents).toContain(wf.attemptsAt('old')[0]?.execution.id)
  })

  it('in a chain keeps the one row', () => {
    const wf = played(chain('a', 'old', 'c'), 'a')
    const { id } = wf.rowOf('old')
    pause(wf)
    wf.deploy(graphOf({ a: '', now: 'a', c: 'now' }, {}, { old: 'now' }))
    resume(wf)
    expect(wf.rowOf('now')).toMatchObject({ id, slot: '', state: 'scheduled' })
    wf.complete('now')
    wf.complete('c')
    expect(wf.workflow.state).toBe('finished')
  })
})

describe('a node that was rewired', () => {
  it('after it has begun is left alone, and its new parent runs as well, neither of them twice', () => {
    const wf = played(graphOf({ a: '', b: '', c: 'a b' }))
    wf.begin('b')
    wf.deploy(graphOf({ a: '', b: 'a', c: 'a b' }))
    wf.report(['b', threw({ action: 'reattempt' })])
    expect(wf.workflow.crooked).toBe(true)
    expect(wf.standing).toBe('a scheduled, b scheduled')
    wf.complete('b')
    expect(wf.workflow.crooked).toBe(true)
    wf.complete('a')
    expect(wf.standing).toBe('c scheduled')
    expect(wf.workflow.crooked).toBe(false)
    wf.complete('c')
    expect(wf.story).toBe('b failed, b completed, a completed, c completed')
    expect(wf.workflow.state).toBe('finished')
  })

  it('before it has begun waits for its new parents', () => {
    const wf = played(graphOf({ a: '', b: '', c: 'a' }))
    wf.deploy(graphOf({ a: '', b: '', c: 'a b' }))
    wf.complete('a')
    expect(wf.standing).toBe('b scheduled')
    expect(wf.counters).toEqual(new Map([['c', 1]]))
    wf.complete('b')
    expect(wf.standing).toBe('c scheduled')
  })

  it('so that it has fewer parents begins at once', () => {
    const wf = played(graphOf({ a: '', b: '', p: '', c: 'a b' }), 'a')
    expect(wf.counters).toEqual(new Map([['c', 1]]))
    wf.deploy(graphOf({ a: '', b: '', p: '', c: 'a' }))
    wf.complete('p')
    expect(wf.standing).toBe('b scheduled, c scheduled')
    expect(wf.counters).toEqual(new Map([['', 2]]))
  })

  it('so that what is under way has come to stand before one that has ended is waited for all the same', () => {
    const wf = played(graphOf({ a: '', b: '', c: '' }))
    wf.deploy(graphOf({ a: '', c: '', x: 'c', b: 'x' }))
    wf.complete('b')
    expect(wf.attemptsAt('x')).toMatchObject([{ outcome: 'not_taken' }])
    expect(wf.workflow.crooked).toBe(true)
    wf.complete('a')
    expect(wf.workflow.state).toBe('ready')
    expect(wf.standing).toBe('c scheduled')
    wf.complete('c')
    expect(wf.workflow.state).toBe('finished')
  })

  it('so that what has failed has come to stand before one that has ended keeps the workflow from its end', () => {
    const wf = played(graphOf({ a: '', b: '' }))
    wf.deploy(graphOf({ a: '', b: 'a' }))
    wf.begin('b')
    wf.report(['a', failing])
    wf.complete('b')
    expect(wf.workflow).toMatchObject({ state: 'paused', blockedBy: 'a', crooked: true })
    resume(wf)
    wf.complete('a')
    expect(wf.workflow.state).toBe('finished')
  })

  it('and has ended is not run again, whatever comes before it now', () => {
    const wf = played(chain('a', 'b', 'c'), 'a')
    wf.deploy(chain('b', 'd', 'a', 'c'))
    wf.complete('b')
    expect(wf.attemptsAt('d')).toMatchObject([{ outcome: 'not_taken' }])
    expect(wf.standing).toBe('c scheduled')
    wf.complete('c')
    expect(wf.story).toBe('a completed, b completed, d skipped, c completed')
    expect(wf.workflow.state).toBe('finished')
  })
})

it('people who have confirmed are enough when the newest code asks for no more, whoever ends a step beside them', () => {
  const asking = (quorum: number) =>
    graphOf({ a: '', ask: '', b: 'ask' }, { ask: { kind: 'human', human: { quorum, onReject: 'abort' } } })
  const wf = new PlayedWorkflow(asking(3))
  wf.report(['ask', { kind: 'wait' }])
  const given = { decision: 'confirmed' as const, comment: null, data: null }
  for (const by of ['ann', 'bob']) wf.ask((draft, plan) => decideDecision(draft, plan, 'ask', { by, ...given }))
  wf.deploy(asking(2))
  wf.complete('a')
  expect(wf.standing).toBe('ask scheduled')
  expect(wf.rowOf('ask').input).toBe(markCame({ came: 'decision', on: wf.rowOf('ask').id }))
  wf.complete('ask')
  expect(wf.standing).toBe('b scheduled')
})

describe('counters after healing', () => {
  it('are those of a straight run', () => {
    const wide = graphOf({ a: '', b: 'a', c: 'a', d: 'a', e: 'b c d', f: 'b c', g: 'd' })
    const straight = played(wide, 'a', 'b', 'c')
    const healed = played(graphOf({ a: '', b: 'a', c: 'a', d: 'a', e: 'b c d' }), 'a', 'b')
    healed.deploy(wide)
    healed.complete('c')
    expect([...healed.rows.keys()].toSorted()).toEqual([...straight.rows.keys()].toSorted())
    const open = (wf: PlayedWorkflow) => ['e', 'f', ''].map(node => wf.counters.get(node) ?? null)
    expect(open(straight)).toEqual([1, null, null])
    // Nothing has arrived at the end yet, which a straight run does not write down.
    expect(open(healed)).toEqual([1, null, 3])
    for (const node of ['d', 'f', 'g', 'e']) {
      straight.complete(node)
      healed.complete(node)
    }
    expect(healed.workflow.state).toBe('finished')
    expect(straight.workflow.state).toBe('finished')
  })

  it('that are not needed any more are gone', () => {
    const wf = played(graphOf({ a: '', b: '', p: '', c: 'a b', e: 'a b' }), 'a')
    expect(wf.counters.size).toBe(2)
    wf.deploy(graphOf({ a: '', b: '', p: '', c: 'b', e: 'a b' }))
    wf.complete('p')
    expect(wf.counters.get('c')).toBeUndefined()
    expect(wf.counters.get('e')).toBe(1)
  })
})

describe('a chain that has become a graph, and a graph that has become a chain', () => {
  it('the one row of the chain goes on, and beside it what is new', () => {
    const wf = played(chain('a', 'b', 'c'), 'a')
    wf.deploy(graphOf({ a: '', b: 'a', x: 'a', c: 'b x' }))
    wf.report(['b', threw({ action: 'reattempt' })])
    expect(wf.standing).toBe('b scheduled, x scheduled')
    wf.complete('b', 'x')
    wf.complete('c')
    expect(wf.workflow.state).toBe('finished')
  })

  it('a row of the chain that is only scheduled stands in the place of its node then', () => {
    const wf = played(chain('a', 'b'), 'a')
    pause(wf)
    wf.deploy(graphOf({ a: '', b: 'a', x: 'a' }, { b: { kind: 'each' } }))
    resume(wf)
    expect([...wf.rows.keys()].toSorted()).toEqual(['b', 'x'])
    wf.report(['b', { kind: 'items', items: ['1', '2'] }])
    wf.complete('b/0', 'b/1')
    wf.complete('x')
    expect(wf.workflow.state).toBe('finished')
  })

  it('several rows of a graph that run on in a chain do not push each other out', () => {
    const wf = played(graphOf({ a: '', b: '', c: 'a b' }))
    wf.begin('a')
    wf.begin('b')
    wf.deploy(chain('a', 'b', 'c'))
    wf.report(['a', threw({ action: 'reattempt' })])
    wf.report(['b', threw({ action: 'reattempt' })])
    expect(wf.standing.split(', ').toSorted()).toEqual(['a scheduled', 'b scheduled'])
    wf.complete('b')
    wf.complete('a')
    expect(wf.standing).toBe('c scheduled')
    wf.complete('c')
    expect(wf.story).toBe('a failed, b failed, b completed, a completed, c completed')
  })
})

describe('healing', () => {
  it('is told once, with what has changed', () => {
    const graph = chain('a', 'x', 'b')
    const plan = planFor(graph, { heals: true, previous: chain('a', 'gone', 'b') })
    const situation = facts({ generation: 2, active: [row()], latest: [] })
    const change = decided(situation, draft => heal(draft, plan))
    const healed = change.events.filter(event => event.type === 'workflow.healed')
    expect(healed).toMatchObject([
      { reason: 'added x; removed gone; rewired b', payload: JSON.stringify({ removed: ['gone'] }) },
    ])
    expect(change.update).toMatchObject({ generation: 3, crooked: false })
  })

  it('is told without a reason where nobody knows the graph before', () => {
    const change = decided(facts({ generation: 2, active: [row()], latest: [] }), draft =>
      heal(draft, planFor(chain('a'), { heals: true })),
    )
    expect(change.events).toMatchObject([{ type: 'workflow.healed', reason: null, payload: null }])
  })

  it('of a crooked workflow by the same code is nothing to tell', () => {
    const change = decided(facts({ crooked: true, active: [row()], latest: [] }), draft =>
      heal(draft, planFor(chain('a'), { heals: true })),
    )
    expect(change.events).toEqual([])
    expect(change.update).toMatchObject({ crooked: false, generation: 3 })
  })

  it('changes nothing where all stands as it should', () => {
    const change = decided(facts({ active: [row()], latest: [] }), draft => heal(draft, planFor(chain('a', 'b'))))
    expect(change).toMatchObject({ update: null, events: [], insertions: [], replacements: [], endings: [] })
  })

  it.each([
    ['a workflow that is ready', {}, true],
    ['one that is paused', { state: 'paused' }, true],
    ['one that is being canceled', { state: 'rolling_back' }, false],
    ['one that has ended', { state: 'finished' }, false],
    ['one that is about to finish', { finishing: true }, false],
    ['one that is not shown as a whole', { latest: null }, false],
  ] as const)('is for %s: %s', (_, situation, expected) => {
    const plan = planFor(chain('a'), { heals: true })
    decided(facts({ latest: [], ...situation }), draft => {
      expect(mustHeal(draft, plan)).toBe(expected)
      expect(mustHeal(draft, { ...plan, heals: false })).toBe(false)
    })
  })
})

describe('a parent is satisfied', () => {
  it.each([
    ['completed', 'success', true],
    ['completed', 'resolved', true],
    ['completed', 'reattempted', false],
    ['skipped', 'skipped_by_condition', true],
    ['skipped', 'skipped_by_exception', true],
    ['skipped', 'stopped', false],
    ['skipped', 'not_taken', false],
    ['failed', 'paused_by_exception', false],
    ['canceled', 'canceled_by_flow_control', false],
  ] as const)('when it is %s (%s): %s', (state, outcome, expected) => {
    expect(isSatisfied(latest({ state, outcome }))).toBe(expected)
  })
})
