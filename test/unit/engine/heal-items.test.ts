/** Items of an `each` node that are under way while its graph changes: they go on, and their node ends with the last of them. */
import { describe, expect, it } from 'vitest'
import type { Graph } from '../../../src/definition/graph.ts'
import { decidePause, decideSkip } from '../../../src/engine/decide-request.ts'
import { chain, graphOf, threw } from './facts.ts'
import { PlayedWorkflow } from './played-workflow.ts'

const asked = { by: 'ann', reason: 'because' }
const failing = threw({ action: 'pause' })

const pause = (wf: PlayedWorkflow) => wf.ask(draft => decidePause(draft, asked))
const skip = (wf: PlayedWorkflow, node: string) => wf.ask((draft, plan) => decideSkip(draft, node, asked, plan))
const played = (before: Graph) => new PlayedWorkflow(before)

describe('items of an `each` node', () => {
  const each = (concurrency: number) => ({ all: { kind: 'each' as const, concurrency } })
  const withItems = (concurrency: number) => {
    const wf = played(graphOf({ all: '', b: 'all' }, each(concurrency)))
    wf.report(['all', { kind: 'items', items: ['0', '1', '2'] }])
    return wf
  }

  it('go on: a place that falls free while the workflow heals goes to the next', () => {
    const wf = withItems(1)
    wf.deploy(graphOf({ all: '', b: 'all', x: '' }, each(1)))
    wf.complete('all/0')
    expect(wf.standing).toBe('all waiting, all/1 scheduled, all/2 waiting, x scheduled')
    expect(wf.counters.get('all')).toBe(2)
  })

  it('end their node, also when the last of them ends while the workflow heals', () => {
    const wf = withItems(3)
    wf.complete('all/0', 'all/1')
    wf.deploy(graphOf({ all: '', b: 'all', x: '' }, each(3)))
    wf.complete('all/2')
    expect(wf.attemptsAt('all')).toMatchObject([{ state: 'completed', outcome: 'success' }])
    expect(wf.standing).toBe('x scheduled, b scheduled')
  })

  it('are counted with those that have failed', () => {
    const wf = withItems(3)
    wf.report(['all/0', failing])
    wf.deploy(graphOf({ all: '', b: 'all', x: '' }, each(3)))
    wf.complete('all/1')
    expect(wf.counters.get('all')).toBe(2)
    expect(wf.workflow.state).toBe('ready')
    wf.complete('all/2')
    wf.complete('x')
    expect(wf.workflow).toMatchObject({ state: 'paused', blockedBy: 'all/0' })
    skip(wf, 'all/0')
    expect(wf.standing).toBe('b scheduled')
  })

  it('that are still to be told are not counted yet', () => {
    const wf = played(graphOf({ a: '', all: 'a' }, each(2)))
    wf.deploy(graphOf({ a: '', x: 'a', all: 'x' }, each(2)))
    wf.complete('a')
    expect(wf.counters.size).toBe(0)
    wf.complete('x')
    wf.report(['all', { kind: 'items', items: ['0', '1', '2'] }])
    expect(wf.counters).toEqual(new Map([['all', 3]]))
  })

  it('may be more at once when the new code allows it', () => {
    const wf = withItems(1)
    wf.deploy(graphOf({ all: '', b: 'all', x: '' }, each(2)))
    wf.complete('all/0')
    expect(wf.standing).toBe('all waiting, all/1 scheduled, all/2 scheduled, x scheduled')
  })

  it('may be fewer at once when the new code says so: those that have begun end first', () => {
    const wf = withItems(2)
    wf.begin('all/0')
    wf.begin('all/1')
    wf.deploy(graphOf({ all: '', b: 'all', x: '' }, each(1)))
    wf.complete('all/0')
    expect(wf.standing).toBe('all waiting, all/1 in_progress, all/2 waiting, x scheduled')
    wf.complete('all/1')
    expect(wf.standing).toBe('all waiting, all/2 scheduled, x scheduled')
    wf.complete('all/2')
    expect(wf.standing).toBe('x scheduled, b scheduled')
    expect(wf.workflow.crooked).toBe(false)
  })

  it('keep to a limit that was lowered, however many of them are still under way', () => {
    const before = graphOf({ all: '', b: 'all' }, each(3))
    const wf = played(before)
    wf.report(['all', { kind: 'items', items: ['0', '1', '2', '3', '4'] }])
    for (const item of ['all/0', 'all/1', 'all/2']) wf.begin(item)
    wf.deploy(graphOf({ all: '', b: 'all' }, each(1)))
    wf.complete('all/0')
    wf.complete('all/1')
    expect(wf.standing).toBe('all waiting, all/2 in_progress, all/3 waiting, all/4 waiting')
    wf.complete('all/2')
    expect(wf.standing).toBe('all waiting, all/3 scheduled, all/4 waiting')
    expect(wf.workflow.crooked).toBe(false)
  })

  it('of a node that was renamed go with it', () => {
    const wf = withItems(2)
    wf.deploy(graphOf({ every: '', b: 'every' }, { every: { kind: 'each', concurrency: 2 } }, { all: 'every' }))
    wf.complete('all/0')
    expect(wf.standing).toBe('every waiting, every/1 scheduled, every/2 scheduled')
    wf.complete('every/1', 'every/2')
    expect(wf.standing).toBe('b scheduled')
  })

  it('of a node that was removed fail one after the other, and the node is settled with the last of them', () => {
    const wf = withItems(1)
    wf.deploy(chain('b'))
    wf.report(['all/0', failing])
    expect(wf.standing).toBe('all waiting, all/1 scheduled, all/2 waiting')
    wf.report(['all/1', failing])
    wf.report(['all/2', failing])
    expect(wf.workflow).toMatchObject({ state: 'paused', crooked: true })
    for (const node of ['all/0', 'all/1', 'all/2']) skip(wf, node)
    expect(wf.attemptsAt('all')).toMatchObject([{ state: 'completed', outcome: 'success' }])
    expect(wf.workflow).toMatchObject({ state: 'ready', crooked: false })
    expect(wf.standing).toBe('b scheduled')
  })

  it('of a node that was removed go with it when it is skipped, those that have failed included', () => {
    const wf = withItems(1)
    wf.deploy(chain('b'))
    wf.report(['all/0', failing])
    skip(wf, 'all')
    expect(wf.standing).toBe('b scheduled')
    expect(wf.workflow).toMatchObject({ state: 'ready', crooked: false, blockedBy: null })
    wf.complete('b')
    expect(wf.workflow.state).toBe('finished')
  })

  it('of a node that was removed from a paused workflow are held', () => {
    const wf = withItems(1)
    wf.begin('all/0')
    pause(wf)
    wf.deploy(chain('b'))
    wf.complete('all/0')
    expect(wf.standing).toBe('all waiting, all/1 paused, all/2 waiting')
  })

  it.each([
    ['has become a plain step', chain('all', 'b')],
    ['was removed', chain('b')],
  ])('that old code was asked for count, also when their node %s meanwhile', (_, after) => {
    const wf = played(graphOf({ all: '', b: 'all' }, each(2)))
    wf.begin('all')
    wf.deploy(after)
    wf.report(['all', { kind: 'items', items: ['0', '1'] }])
    expect(wf.standing).toBe('all waiting, all/0 scheduled, all/1 waiting')
    // Whoever has code for them may run them.
    expect(wf.rowOf('all/0').generation).toBe(0)
    wf.complete('all/0')
    wf.complete('all/1')
    expect(wf.standing).toBe('b scheduled')
  })

  it('of a node that has become a plain step end it all the same', () => {
    const wf = withItems(3)
    wf.deploy(chain('all', 'b'))
    wf.complete('all/0')
    wf.complete('all/1')
    wf.complete('all/2')
    expect(wf.standing).toBe('b scheduled')
  })
})
