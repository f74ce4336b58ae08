/** The items of an `each` node: one execution for each, in order, no more at once than allowed, joined by their node. */
import { describe, expect, it } from 'vitest'
import { ancestryHash } from '../../../src/engine/ancestry.ts'
import {
  decideCancel,
  decidePause,
  decideResolve,
  decideResume,
  decideSkip,
} from '../../../src/engine/decide-request.ts'
import { itemSlot, slotOf } from '../../../src/engine/plan.ts'
import type { StepReport } from '../../../src/engine/step-report.ts'
import { chain, facts, finished, graphOf, idleRowOf, planFor, rowOf, threw } from './facts.ts'
import { PlayedWorkflow } from './played-workflow.ts'

const asked = { by: 'ann', reason: 'because' }
const failing = threw({ action: 'pause' })

const itemsOf = (count: number): StepReport => ({
  kind: 'items',
  items: Array.from({ length: count }, (_, index) => String(index * 10)),
})

/** Has told `count` items, of which `concurrency` may be under way. */
function fannedOut(count: number, concurrency?: number, more: Record<string, string> = {}): PlayedWorkflow {
  const settings = { kind: 'each' as const, ...(concurrency === undefined ? {} : { concurrency }) }
  const wf = new PlayedWorkflow(graphOf({ all: '', after: 'all', ...more }, { all: settings }))
  wf.report(['all', itemsOf(count)])
  return wf
}

const pause = (wf: PlayedWorkflow) => wf.ask(draft => decidePause(draft, asked))
const resume = (wf: PlayedWorkflow) => wf.ask((draft, plan) => decideResume(draft, asked, plan))
const skip = (wf: PlayedWorkflow, node: string) => wf.ask((draft, plan) => decideSkip(draft, node, asked, plan))

/** How many items may run or do so. */
const underWay = (wf: PlayedWorkflow) =>
  [...wf.rows.values()].filter(({ node, state }) => node.includes('/') && state !== 'waiting').length

describe('the items of a node', () => {
  it('begin side by side, each with its own input, while their node waits', () => {
    const wf = fannedOut(3)
    expect(wf.standing).toBe('all waiting, all/0 scheduled, all/1 scheduled, all/2 scheduled')
    expect(wf.rowOf('all/2')).toMatchObject({ input: '20', slot: 'all/00000002', attempt: 1, ordinal: 2 })
    expect(wf.counters).toEqual(new Map([['all', 3]]))
    expect(wf.events).toContain('step.waiting all')
  })

  it('come after their node', () => {
    const wf = fannedOut(1)
    const { id, ancestry } = wf.rowOf('all')
    expect(wf.rowOf('all/0').ancestry).toEqual({ hash: ancestryHash('all/0', 1, [ancestry.hash]), parents: [id] })
  })

  it('end their node with the last of them, and what depends on it begins', () => {
    const wf = fannedOut(3)
    wf.complete('all/1')
    wf.complete('all/0')
    expect(wf.counters).toEqual(new Map([['all', 1]]))
    expect(wf.standing).toBe('all waiting, all/2 scheduled')
    wf.complete('all/2')
    expect(wf.attemptsAt('all')).toMatchObject([{ state: 'completed', outcome: 'success', output: null }])
    expect(wf.standing).toBe('after scheduled')
    expect(wf.counters).toEqual(new Map())
    wf.complete('after')
    expect(wf.workflow.state).toBe('finished')
  })

  it('end their node once when all of them end in the same transaction', () => {
    const wf = fannedOut(3)
    wf.complete('all/0', 'all/1', 'all/2')
    expect(wf.standing).toBe('after scheduled')
    expect(wf.attemptsAt('all')).toHaveLength(1)
  })

  it('that there are none of end it at once', () => {
    const wf = fannedOut(0)
    expect(wf.attemptsAt('all')).toMatchObject([{ state: 'completed', outcome: 'success' }])
    expect(wf.standing).toBe('after scheduled')
  })

  it('that there are none of count their node down for a fan-in', () => {
    const graph = graphOf({ all: '', b: '', join: 'all b' }, { all: { kind: 'each' } })
    const wf = new PlayedWorkflow(graph)
    wf.report(['all', itemsOf(0)])
    expect(wf.counters).toEqual(new Map([['join', 1]]))
    wf.complete('b')
    expect(wf.standing).toBe('join scheduled')
  })

  it('may be skipped, by themselves or from outside', () => {
    const wf = fannedOut(2)
    wf.report(['all/0', { kind: 'skip', by: 'flow_control', reason: null }])
    skip(wf, 'all/1')
    expect(wf.standing).toBe('after scheduled')
  })

  it('may be resolved', () => {
    const wf = fannedOut(1)
    wf.ask((draft, plan) => decideResolve(draft, { node: 'all/0', request: asked, output: '5' }, plan))
    expect(wf.attemptsAt('all/0')).toMatchObject([{ state: 'completed', outcome: 'resolved', output: '5' }])
    expect(wf.standing).toBe('after scheduled')
  })

  it('keep their input over attempts, crashes included', () => {
    const wf = fannedOut(2)
    wf.report(['all/1', threw({ action: 'reattempt' })])
    expect(wf.rowOf('all/1')).toMatchObject({ attempt: 2, input: '10', slot: itemSlot('all', 1) })
    wf.lose('all/1')
    expect(wf.rowOf('all/1')).toMatchObject({
      attempt: 3,
      input: '10',
      crashes: 1,
      ancestry: { parents: [wf.rowOf('all').id] },
    })
    wf.complete('all/1', 'all/0')
    expect(wf.standing).toBe('after scheduled')
  })

  it('of a node at the end of the graph end the workflow', () => {
    const wf = new PlayedWorkflow(graphOf({ all: '', b: '' }, { all: { kind: 'each' } }))
    wf.report(['all', itemsOf(2)])
    wf.complete('b')
    wf.complete('all/0', 'all/1')
    expect(wf.workflow.state).toBe('finished')
  })

  it('are told by a node with several parents as by any other', () => {
    const graph = graphOf({ a: '', b: '', all: 'a b', after: 'all' }, { all: { kind: 'each' } })
    const wf = new PlayedWorkflow(graph)
    wf.complete('a')
    wf.complete('b')
    expect(wf.counters).toEqual(new Map())
    wf.report(['all', itemsOf(2)])
    expect(wf.counters).toEqual(new Map([['all', 2]]))
    wf.complete('all/0')
    wf.complete('all/1')
    expect(wf.standing).toBe('after scheduled')
  })

  it('are left alone when their node has no row any more', () => {
    const graph = graphOf({ all: '', after: 'all' }, { all: { kind: 'each' } })
    const item = rowOf('all/0', { slot: itemSlot('all', 0) })
    const { change } = finished(
      facts({ active: [item] }),
      item,
      { kind: 'completed', output: null },
      { plan: planFor(graph) },
    )
    expect(change.insertions).toEqual([])
  })

  it.each(['{"child":"999"}', '{"existing":"999"}', 'null', '"text"'])(
    'are data of the application, whatever they look like: %s',
    item => {
      const wf = new PlayedWorkflow(graphOf({ all: '' }, { all: { kind: 'each', concurrency: 1 } }))
      wf.report(['all', { kind: 'items', items: ['1', item] }])
      wf.ask((draft, plan) => decideCancel(draft, asked, plan))
      expect(wf.workflow.state).toBe('canceled')
      expect(wf.rows.size).toBe(0)
    },
  )

  it('go with their node when the workflow is canceled', () => {
    const wf = fannedOut(3, 2)
    wf.ask((draft, plan) => decideCancel(draft, asked, plan))
    expect(wf.workflow.state).toBe('canceled')
    expect(wf.rows.size).toBe(0)
    expect(wf.history.every(({ outcome }) => outcome === 'stopped')).toBe(true)
  })
})

describe('where only so many items may be under way', () => {
  it('the others wait for a place, and get it in order', () => {
    const wf = fannedOut(13, 1)
    expect(wf.standing).toMatch(/^all waiting, all\/0 scheduled, all\/1 waiting, all\/2 waiting/)
    const order: string[] = []
    for (let i = 0; i < 13; i++) {
      const [next] = [...wf.rows.values()].filter(({ state }) => state === 'scheduled')
      order.push(next?.node ?? '')
      wf.complete(next?.node ?? '')
    }
    expect(order).toEqual(Array.from({ length: 13 }, (_, index) => `all/${index}`))
    expect(wf.standing).toBe('after scheduled')
  })

  it('several places that fall free at once go to as many', () => {
    const wf = fannedOut(5, 2)
    wf.complete('all/0', 'all/1')
    expect(wf.standing).toBe('all waiting, all/2 scheduled, all/3 scheduled, all/4 waiting')
  })

  it('one that has got a place is due at once', () => {
    const graph = graphOf({ all: '' }, { all: { kind: 'each', concurrency: 1 } })
    const slots = [0, 1].map(index => itemSlot('all', index))
    const running = rowOf('all/0', { slot: slots[0] ?? '' })
    const active = [
      rowOf('all', { state: 'waiting' }),
      running,
      idleRowOf('all/1', { slot: slots[1] ?? '', state: 'waiting' }),
    ]
    const situation = facts({ active, fanIns: { all: 2 } })
    const { change } = finished(situation, running, { kind: 'completed', output: null }, { plan: planFor(graph) })
    expect(change.moves).toMatchObject([{ slot: slots[1], state: 'scheduled', due: { inMs: 0 } }])
  })

  it('an attempt that is to be repeated keeps its place', () => {
    const wf = fannedOut(3, 1)
    wf.report(['all/0', threw({ action: 'reattempt' })])
    expect(wf.standing).toBe('all waiting, all/0 scheduled, all/1 waiting, all/2 waiting')
  })

  it('one that has failed leaves its place to the next', () => {
    const wf = fannedOut(3, 1)
    wf.report(['all/0', failing])
    expect(wf.workflow).toMatchObject({ state: 'ready', blockedBy: 'all/0' })
    expect(wf.standing).toBe('all waiting, all/1 scheduled, all/2 waiting')
  })

  it('one that was given up after too many crashes keeps its place until it is handled', () => {
    const wf = fannedOut(2, 1)
    for (let crash = 0; crash < 3; crash++) {
      wf.rows.set(itemSlot('all', 0), { ...wf.begin('all/0'), startMark: 'turn' })
      wf.lose('all/0')
    }
    expect(wf.attemptsAt('all/0')).toHaveLength(3)
    expect(wf.workflow.state).toBe('dlq')
    expect(wf.standing).toBe('all waiting, all/0 paused, all/1 waiting')
  })

  it('one that gets a place while the workflow is paused is held', () => {
    const wf = fannedOut(3, 1)
    wf.begin('all/0')
    pause(wf)
    wf.complete('all/0')
    expect(wf.standing).toBe('all waiting, all/1 paused, all/2 waiting')
    resume(wf)
    expect(wf.standing).toBe('all waiting, all/1 scheduled, all/2 waiting')
  })

  it('items that are told while the workflow is paused are held, and the rest waits', () => {
    const wf = new PlayedWorkflow(graphOf({ all: '', after: 'all' }, { all: { kind: 'each', concurrency: 2 } }))
    wf.begin('all')
    pause(wf)
    wf.report(['all', itemsOf(3)])
    expect(wf.standing).toBe('all waiting, all/0 paused, all/1 paused, all/2 waiting')
    resume(wf)
    expect(wf.standing).toBe('all waiting, all/0 scheduled, all/1 scheduled, all/2 waiting')
  })

  it('skipping one that waits for a place gives none away', () => {
    const wf = fannedOut(4, 1)
    skip(wf, 'all/2')
    expect(wf.standing).toBe('all waiting, all/0 scheduled, all/1 waiting, all/3 waiting')
  })

  it('skipping one that has failed gives no second place away', () => {
    const wf = fannedOut(4, 1)
    wf.report(['all/0', failing])
    skip(wf, 'all/0')
    expect(wf.standing).toBe('all waiting, all/1 scheduled, all/2 waiting, all/3 waiting')
    for (const item of ['all/1', 'all/2', 'all/3']) wf.complete(item)
    expect(wf.standing).toBe('after scheduled')
  })

  it('items that have failed are tried again one after the other', () => {
    const wf = fannedOut(4, 2)
    for (const index of [0, 1, 2, 3]) wf.report([`all/${index}`, failing])
    expect(wf.workflow).toMatchObject({ state: 'paused', blockedBy: 'all/0' })
    resume(wf)
    expect(underWay(wf)).toBe(2)
    for (const index of [0, 1, 2, 3]) wf.complete(`all/${index}`)
    expect(wf.standing).toBe('after scheduled')
    expect(wf.attemptsAt('all/3')).toMatchObject([
      { state: 'failed' },
      { state: 'completed', execution: { attempt: 2 } },
    ])
  })
})

describe('an item that has failed', () => {
  it('keeps its node waiting and pauses the workflow when nothing else goes on', () => {
    const wf = fannedOut(2)
    wf.report(['all/0', failing])
    expect(wf.workflow.state).toBe('ready')
    wf.complete('all/1')
    expect(wf.workflow).toMatchObject({ state: 'paused', pauseCause: 'exception', blockedBy: 'all/0' })
    expect(wf.standing).toBe('all waiting')
    expect(wf.counters).toEqual(new Map([['all', 1]]))
    resume(wf)
    expect(wf.rowOf('all/0')).toMatchObject({ attempt: 2, input: '0', state: 'scheduled' })
    wf.complete('all/0')
    expect(wf.standing).toBe('after scheduled')
  })

  it('may be skipped, and the last one ends its node', () => {
    const wf = fannedOut(2)
    wf.report(['all/0', failing])
    wf.complete('all/1')
    skip(wf, 'all/0')
    expect(wf.workflow).toMatchObject({ state: 'ready', blockedBy: null })
    expect(wf.standing).toBe('after scheduled')
  })
})

describe('an `each` node that waits for its items', () => {
  it('takes them with it when it is skipped', () => {
    const wf = fannedOut(4, 2)
    wf.complete('all/0')
    skip(wf, 'all')
    expect(wf.standing).toBe('after scheduled')
    expect(wf.attemptsAt('all')).toMatchObject([{ state: 'skipped', outcome: 'skipped_by_flow_control' }])
    wf.complete('after')
    expect(wf.workflow.state).toBe('finished')
    expect(wf.rows.size).toBe(0)
  })

  it('cannot be skipped while one of them runs', () => {
    const wf = fannedOut(2)
    wf.begin('all/1')
    expect(() => skip(wf, 'all')).toThrow('Item all/1 is running; wait for it, or cancel the workflow.')
    expect(wf.standing).toBe('all waiting, all/0 scheduled, all/1 in_progress')
  })

  it('is not kept from its end by an item that had failed, once it is resolved', () => {
    const wf = fannedOut(2)
    wf.report(['all/0', failing])
    wf.complete('all/1')
    wf.ask((draft, plan) => decideResolve(draft, { node: 'all', request: asked, output: null }, plan))
    expect(wf.workflow).toMatchObject({ state: 'ready', blockedBy: null })
    expect(wf.standing).toBe('after scheduled')
    wf.complete('after')
    expect(wf.workflow.state).toBe('finished')
  })
})

describe('slots', () => {
  it('are one for a chain, and one for each node and item of a graph', () => {
    expect(slotOf(chain('a', 'b'), 'b')).toBe('')
    const graph = graphOf({ all: '', b: '' }, { all: { kind: 'each' } })
    expect(slotOf(graph, 'b')).toBe('b')
    expect(slotOf(graph, 'all/7')).toBe('all/00000007')
    expect(slotOf(graph, 'x/7')).toBe('x/7')
  })

  it('of items sort like their numbers', () => {
    const slots = [10, 9, 100_000, 2].map(index => itemSlot('all', index))
    expect(slots.toSorted()).toEqual([2, 9, 10, 100_000].map(index => itemSlot('all', index)))
  })
})
