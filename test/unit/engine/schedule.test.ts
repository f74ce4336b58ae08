/** What comes next in a graph: fan-ins start with their last parent, once, and a failed node holds up only what depends on it. */
import { describe, expect, it } from 'vitest'
import { ancestryHash } from '../../../src/engine/ancestry.ts'
import { ChangeDraft } from '../../../src/engine/change-draft.ts'
import { namesOf, parentsOf } from '../../../src/engine/parents.ts'
import { currentName } from '../../../src/engine/plan.ts'
import { arrive, insertFirst, repeat } from '../../../src/engine/schedule.ts'
import {
  begun,
  completed,
  diamond,
  done,
  facts,
  finished,
  graphOf,
  idleRowOf,
  latest,
  planFor,
  rowOf,
  threw,
} from './facts.ts'
import { PlayedWorkflow } from './played-workflow.ts'

const again = { due: { inMs: 0 }, failures: 0, crashes: 0 }

describe('a node with several parents', () => {
  it('waits for the last of them, and its counter goes with it', () => {
    const wf = new PlayedWorkflow(diamond)
    wf.complete('a')
    expect(wf.standing).toBe('b scheduled, c scheduled')
    wf.complete('b')
    expect(wf.standing).toBe('c scheduled')
    expect(wf.counters).toEqual(new Map([['d', 1]]))
    wf.complete('c')
    expect(wf.standing).toBe('d scheduled')
    expect(wf.counters).toEqual(new Map())
    wf.complete('d')
    expect(wf.workflow.state).toBe('finished')
    expect(wf.story).toBe('a completed, b completed, c completed, d completed')
  })

  it('starts once when all of them end in the same transaction, and no counter is ever written', () => {
    const wf = new PlayedWorkflow(diamond)
    wf.complete('a')
    wf.complete('b', 'c')
    expect(wf.standing).toBe('d scheduled')
    expect(wf.counters).toEqual(new Map())
  })

  it.each([2, 200])('starts once, of %i parents that end in twos', width => {
    const names = Array.from({ length: width }, (_, index) => `p${index}`)
    const edges = Object.fromEntries(names.map(name => [name, '']))
    const wf = new PlayedWorkflow(graphOf({ ...edges, join: names.join(' ') }))
    for (let i = 0; i < width; i += 2) wf.complete(...names.slice(i, i + 2))
    expect(wf.standing).toBe('join scheduled')
    expect(wf.rowOf('join').ancestry.parents).toHaveLength(width)
  })

  it('begins after a parent that was skipped as after one that completed', () => {
    const wf = new PlayedWorkflow(diamond)
    wf.complete('a')
    wf.report(['b', { kind: 'skip', by: 'condition', reason: null }])
    wf.report(['c', threw({ action: 'skip' })])
    expect(wf.standing).toBe('d scheduled')
    expect(wf.rowOf('d').ancestry.parents).toHaveLength(2)
  })

  it('is not counted down by an attempt that is to be repeated', () => {
    const wf = new PlayedWorkflow(diamond)
    wf.complete('a')
    wf.complete('b')
    wf.report(['c', { kind: 'reattempt', waitMs: 0, rewind: false, reason: null }])
    wf.report(['c', threw({ action: 'reattempt' })])
    expect(wf.standing).toBe('c scheduled')
    expect(wf.counters).toEqual(new Map([['d', 1]]))
    wf.complete('c')
    expect(wf.standing).toBe('d scheduled')
  })
})

describe('the end of a graph', () => {
  const fork = graphOf({ a: '', b: 'a', c: 'a', d: 'b' })

  it('comes with the last node that nothing depends on, side branches included', () => {
    const wf = new PlayedWorkflow(fork)
    wf.complete('a')
    wf.complete('c')
    expect(wf.counters).toEqual(new Map([['', 1]]))
    wf.complete('b')
    expect(wf.workflow.state).toBe('ready')
    wf.complete('d')
    expect(wf.workflow.state).toBe('finished')
    expect(wf.counters).toEqual(new Map())
    expect(wf.events.filter(event => event === 'workflow.finished')).toHaveLength(1)
  })

  it('comes once when all leaves end in the same transaction', () => {
    const wf = new PlayedWorkflow(graphOf({ a: '', b: '', c: '' }))
    expect(wf.standing).toBe('a scheduled, b scheduled, c scheduled')
    wf.complete('a', 'b', 'c')
    expect(wf.workflow.state).toBe('finished')
    expect(wf.rows.size).toBe(0)
  })

  it('of a paused workflow is left to whoever resumes it', () => {
    const situation = facts({ state: 'paused', pauseCause: 'request', active: [rowOf('d')], fanIns: { '': 1 } })
    const { change } = finished(situation, rowOf('d'), completed, { plan: planFor(fork) })
    expect(change.update).toBeNull()
    expect(change.fanIns).toMatchObject({ removed: [{ node: '' }], cleared: false })
  })

  it('clears the counters of a graph, and looks for none in a chain', () => {
    const situation = facts({ active: [rowOf('d')], fanIns: { '': 1 } })
    expect(finished(situation, rowOf('d'), completed, { plan: planFor(fork) }).change.fanIns).toEqual({
      inserted: [],
      updated: [],
      removed: [],
      cleared: true,
    })
    const draft = new ChangeDraft(facts({ active: [rowOf('d')] }))
    draft.moveWorkflow('finished')
    expect(draft.build().fanIns.cleared).toBe(false)
  })
})

describe('of the rows that fall due', () => {
  const plan = () => planFor(graphOf({ a: '', b: 'a', c: 'a', d: 'a' }, { c: { queue: 'mail' }, d: { waitMs: 9 } }))

  it('each node has one of its own, with its own queue and wait', () => {
    const { change } = finished(facts({ active: [rowOf('a')] }), rowOf('a'), completed, { plan: plan() })
    expect(change.removals).toEqual([{ slot: 'a' }])
    expect(change.insertions).toMatchObject([
      { id: '90', slot: 'b', queue: 'default', due: { inMs: 0 }, state: 'scheduled' },
      { id: '91', slot: 'c', queue: 'mail', due: { inMs: 0 } },
      { id: '92', slot: 'd', queue: 'default', due: { inMs: 9 } },
    ])
  })

  it('the first that the worker serves runs on', () => {
    const asked: string[] = []
    const runOn = { workerId: 'worker', serves: (queue: string) => asked.push(queue) === 2 }
    const situation = facts({ active: [rowOf('a')] })
    const { change, next } = finished(situation, rowOf('a'), completed, { plan: plan(), runOn })
    expect(begun(change)).toEqual(['b 1 scheduled', 'c 1 in_progress', 'd 1 scheduled'])
    expect(next).toMatchObject({ node: 'c', owner: 'worker', progress: { runs: 1 } })
    // What has to wait is not asked about.
    expect(asked).toEqual(['default', 'mail'])
  })
})

describe('where an execution stands in history', () => {
  it('is one behind the latest of its parents', () => {
    const parents = [latest({ ...done('b')[0], ordinal: 7 })]
    const situation = facts({ active: [rowOf('c', { ordinal: 3 })], parents, fanIns: { d: 1 } })
    const { change } = finished(situation, rowOf('c', { ordinal: 3 }), completed, { plan: planFor(diamond) })
    expect(change.insertions).toMatchObject([{ node: 'd', ordinal: 8 }])
  })

  it('is one behind the attempt before', () => {
    const draft = new ChangeDraft(facts({ parents: done('a') }))
    expect(repeat(draft, planFor(diamond), rowOf('b', { ordinal: 4 }), again).ordinal).toBe(5)
  })
})

describe('the parents of an execution', () => {
  const parentIds = (situation: Parameters<typeof facts>[0], graph = diamond) =>
    parentsOf(new ChangeDraft(facts(situation)), planFor(graph), graph.node('d')).map(parent => parent.id)

  it('are the latest attempts of what it depends on', () => {
    expect(parentIds({ parents: done('b', 'c') })).toEqual(['ended-b', 'ended-c'])
    expect(parentIds({ latest: done('b', 'c') })).toEqual(['ended-b', 'ended-c'])
  })

  it('do not include what was not taken', () => {
    const left = latest({ node: 'b', state: 'skipped', outcome: 'not_taken' })
    expect(parentIds({ parents: [left, ...done('c')] })).toEqual(['ended-c'])
    const skipped = latest({ node: 'b', state: 'skipped', outcome: 'skipped_by_condition' })
    expect(parentIds({ parents: [skipped, ...done('c')] })).toEqual(['ended-b', 'ended-c'])
  })

  it('are found under their former names', () => {
    const renamed = graphOf({ a: '', b: 'a', c: 'a', d: 'b c' }, {}, { old: 'b' })
    expect(parentIds({ parents: done('old', 'c') }, renamed)).toEqual(['ended-old', 'ended-c'])
  })

  it('go into its hash, and so does the attempt', () => {
    const draft = () => new ChangeDraft(facts({ parents: done('b', 'c') }))
    const hashes = done('c', 'b').map(({ ancestry }) => ancestry.hash)
    const first = insertFirst(draft(), planFor(diamond), diamond.node('d'))
    expect(first.ancestry).toEqual({ hash: ancestryHash('d', 1, hashes), parents: ['ended-b', 'ended-c'] })
    const second = repeat(draft(), planFor(diamond), { ...first, ordinal: 1 }, again)
    expect(second.ancestry).toEqual({ hash: ancestryHash('d', 2, hashes), parents: ['ended-b', 'ended-c'] })
  })
})

describe('a node that has failed', () => {
  it('keeps what depends on it waiting, while other branches go on to their ends', () => {
    const wf = new PlayedWorkflow(graphOf({ a: '', b: 'a', c: 'a', d: 'b c', e: 'c' }))
    wf.complete('a')
    wf.report(['b', threw({ action: 'pause' })])
    expect(wf.workflow).toMatchObject({ state: 'ready', blockedBy: 'b' })
    wf.complete('c')
    expect(wf.standing).toBe('e scheduled')
    expect(wf.workflow.state).toBe('ready')
    wf.complete('e')
    expect(wf.workflow).toMatchObject({ state: 'paused', pauseCause: 'exception', blockedBy: 'b' })
    expect(wf.rows.size).toBe(0)
    expect(wf.attemptsAt('b')).toHaveLength(1)
  })

  it('pauses the workflow at once when nothing else goes on, with what it threw as the reason', () => {
    const situation = facts({ active: [rowOf('b')], othersGoOn: false })
    const { change } = finished(situation, rowOf('b'), threw({ action: 'pause' }), { plan: planFor(diamond) })
    expect(change.update).toMatchObject({ state: 'paused', pauseCause: 'exception', blockedBy: 'b' })
    expect(change.events.at(-1)).toMatchObject({ type: 'workflow.paused', reason: 'broken' })
  })

  it.each([
    ['is out of sight', facts({ active: [rowOf('b')], othersGoOn: true })],
    ['runs', facts({ active: [rowOf('b'), rowOf('c')] })],
    ['is scheduled', facts({ active: [rowOf('b'), idleRowOf('c')] })],
    ['is suspended', facts({ active: [rowOf('b'), idleRowOf('c', { state: 'suspended' })] })],
  ])('does not pause it while something %s', (_, situation) => {
    const { change } = finished(situation, rowOf('b'), threw({ action: 'pause' }), { plan: planFor(diamond) })
    expect(change.update).toMatchObject({ state: 'ready', blockedBy: 'b' })
  })

  it('is the one that is named first where several have failed', () => {
    const wf = new PlayedWorkflow(diamond)
    wf.complete('a')
    wf.report(['c', threw({ action: 'pause' })])
    wf.report(['b', threw({ action: 'pause' })])
    expect(wf.workflow).toMatchObject({ state: 'paused', blockedBy: 'c' })
    expect(wf.counters).toEqual(new Map())
  })

  it('pauses the workflow with the last branch, whatever the order in one transaction', () => {
    for (const order of [
      ['b', 'c'],
      ['c', 'b'],
    ] as const) {
      const wf = new PlayedWorkflow(diamond)
      wf.complete('a')
      wf.report(...order.map(node => [node, node === 'b' ? threw({ action: 'pause' }) : completed] as const))
      expect(wf.workflow).toMatchObject({ state: 'paused', pauseCause: 'exception', blockedBy: 'b' })
    }
  })

  it('of a paused workflow is remembered and changes nothing else', () => {
    const situation = facts({ state: 'paused', pauseCause: 'request', active: [rowOf('b')] })
    const { change } = finished(situation, rowOf('b'), threw({ action: 'pause' }), { plan: planFor(diamond) })
    expect(change.update).toMatchObject({ state: 'paused', pauseCause: 'request', blockedBy: 'b' })
  })
})

describe('a row that follows while the workflow is paused', () => {
  it('is held, in every branch', () => {
    const situation = facts({ state: 'paused', pauseCause: 'request', active: [rowOf('a')] })
    const { change } = finished(situation, rowOf('a'), completed, { plan: planFor(diamond) })
    expect(begun(change)).toEqual(['b 1 paused', 'c 1 paused'])
  })
})

describe('the names of a node', () => {
  const renamed = new Map([
    ['old', 'now'],
    ['older', 'now'],
  ])

  it('are the present one and all former ones', () => {
    expect(namesOf({ renamed }, 'now')).toEqual(['now', 'old', 'older'])
    expect(namesOf({ renamed }, 'other')).toEqual(['other'])
    expect(namesOf({ renamed: new Map() }, 'now')).toEqual(['now'])
    expect(currentName({ renamed }, 'older')).toBe('now')
    expect(currentName({ renamed }, 'other')).toBe('other')
  })

  it('are those of its items too', () => {
    expect(namesOf({ renamed }, 'now/7')).toEqual(['now/7', 'old/7', 'older/7'])
    expect(currentName({ renamed }, 'old/7')).toBe('now/7')
    expect(currentName({ renamed }, 'other/7')).toBe('other/7')
  })
})

describe('arriving at a node that the code has renamed', () => {
  it('goes on behind the present name', () => {
    const renamed = graphOf({ now: '', b: 'now' }, {}, { old: 'now' })
    const draft = new ChangeDraft(facts({ active: [rowOf('old')] }))
    draft.end(rowOf('old'), 'completed', 'success')
    expect(arrive(draft, planFor(renamed), rowOf('old'), null)).toMatchObject([
      { node: 'b', ancestry: { parents: ['row-old'] } },
    ])
  })
})
