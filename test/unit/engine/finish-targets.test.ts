/** What is looked at before reports are decided on: as little as they touch, and all of it where they concern the whole. */
import { describe, expect, it } from 'vitest'
import type { Graph } from '../../../src/definition/graph.ts'
import type { FinishRequest } from '../../../src/engine/finish-request.ts'
import { closerLook, needsHealing, targetFor, usualFollowers } from '../../../src/engine/finish-targets.ts'
import { IdPool, IdReserve } from '../../../src/engine/id-pool.ts'
import { itemSlot } from '../../../src/engine/plan.ts'
import type { StepReport } from '../../../src/engine/step-report.ts'
import { chain, completed, courseOf, diamond, done, facts, graphOf, row, rowOf, threw } from './facts.ts'

/** These decisions bring their own ids. */
const noReserve = new IdReserve({ takeIds: async () => [] })

/** An empty name stands for the one row of a chain. */
function reportOn(node: string, report: StepReport = completed, more: Partial<FinishRequest> = {}): FinishRequest {
  const item = node.split('/')[1]
  const execution = node === '' ? row() : rowOf(node, item === undefined ? {} : { slot: itemSlot('all', Number(item)) })
  const claimed = { execution, workflow: facts({}).workflow, input: null }
  return {
    claimed,
    report,
    progress: null,
    emitted: [],
    runOn: null,
    ids: new IdPool(noReserve),
    repeated: false,
    ...more,
  }
}

const each = graphOf({ all: '', b: '', c: 'all b', d: 'all' }, { all: { kind: 'each', concurrency: 2 } })

describe('before a report in a graph', () => {
  it('its own row, the timer of a cancel and the counters behind it are read, however large the graph is', () => {
    const report = reportOn('b')
    expect(targetFor(courseOf(diamond), [report])).toEqual({
      workflowId: '7',
      settle: ['row-b'],
      slots: ['b', '#stop'],
      held: [report.claimed.execution],
      fanIns: ['d'],
    })
  })

  it('the row of a resumable step is read whole, because it has written into it', () => {
    const report = reportOn('b', completed, { progress: { cursor: '1', completedIterations: 1, total: null, runs: 1 } })
    expect(targetFor(courseOf(diamond), [report, reportOn('c')]).held?.map(row => row.node)).toEqual(['c'])
  })

  it('no counter is read where only nodes with one parent follow', () => {
    expect(targetFor(courseOf(diamond), [reportOn('a')]).fanIns).toEqual([])
  })

  it('the counter of the end is read where there are several ends', () => {
    expect(targetFor(courseOf(diamond), [reportOn('d')]).fanIns).toEqual([])
    expect(targetFor(courseOf(graphOf({ a: '', b: '' })), [reportOn('a')]).fanIns).toEqual([''])
  })

  it('of an item the row of its node is read, and what that may count down', () => {
    expect(targetFor(courseOf(each), [reportOn('all/7')])).toMatchObject({
      slots: ['all/00000007', 'all', '#stop'],
      fanIns: ['all', 'c'],
    })
  })

  it('each row and counter is read once for a group of reports', () => {
    const target = targetFor(courseOf(each), [reportOn('all/0'), reportOn('all/1'), reportOn('b')])
    expect(target.slots).toEqual(['all/00000000', 'all/00000001', 'b', 'all', '#stop'])
    expect(target.fanIns).toEqual(['all', 'c'])
  })

  it('of a renamed node the counters behind its present name are read, and its row where it stands', () => {
    const renamed = graphOf({ now: '', b: '', c: 'now b' }, {}, { old: 'now' })
    expect(targetFor(courseOf(renamed), [reportOn('old')])).toMatchObject({ slots: ['old', '#stop'], fanIns: ['c'] })
  })
})

describe('all rows are read', () => {
  it('of a chain, which has only one, without locking it', () => {
    const request = reportOn('')
    expect(targetFor(courseOf(chain('a', 'b')), [request])).toMatchObject({ fanIns: [], lockRows: false })
    expect(targetFor(courseOf(chain('a', 'b')), [request])).not.toHaveProperty('slots')
  })

  const stopping: readonly (readonly [StepReport, boolean])[] = [
    [{ kind: 'finish', output: null, reason: null }, true],
    [{ kind: 'cancel', by: 'condition', reason: null }, true],
    [{ kind: 'pause', hold: true, reason: null }, true],
    [threw({ action: 'cancel' }), true],
    [threw({ action: 'reattempt', then: 'cancel' }), true],
    [{ ...threw({ action: 'cancel' }), retryMs: 5 } as StepReport, false],
    [threw({ action: 'pause' }), false],
    [{ kind: 'suspend', waitMs: 0, reason: null }, false],
    [{ kind: 'released' }, false],
  ]
  it.each(stopping)('and kept from being claimed where a report concerns them: %o, %s', (report, expected) => {
    const target = targetFor(courseOf(diamond), [reportOn('b', report)])
    expect(target.slots === undefined).toBe(expected)
    expect(target.lockRows ?? false).toBe(expected)
  })

  it('with the counters of the others that end in the same group', () => {
    const pausing: StepReport = { kind: 'pause', hold: true, reason: null }
    expect(targetFor(courseOf(diamond), [reportOn('b', pausing), reportOn('c')]).fanIns).toEqual(['d'])
  })

  it('with the counters where an answer was lost, since the report may not have been recorded', () => {
    const target = targetFor(courseOf(diamond), [reportOn('b', completed, { repeated: true })])
    expect(target).toMatchObject({ repeated: true, settle: ['row-b'], fanIns: ['d'], lockRows: false })
    expect(target).not.toHaveProperty('slots')
  })

  it('with the whole history where the graph has changed', () => {
    expect(targetFor(courseOf(diamond, { heals: true }), [reportOn('b')])).toEqual({
      workflowId: '7',
      settle: ['row-b'],
      repeated: false,
      withLatest: true,
      lockRows: true,
    })
  })

  it('with the whole history where a row is of a node that the graph does not have', () => {
    expect(targetFor(courseOf(diamond), [reportOn('b'), reportOn('lost')])).toMatchObject({ withLatest: true })
    expect(needsHealing(courseOf(diamond), [reportOn('b')])).toBe(false)
    expect(needsHealing(courseOf(diamond), [reportOn('lost')])).toBe(true)
    expect(needsHealing(courseOf(diamond, { heals: true }), [reportOn('b')])).toBe(true)
  })
})

describe('a closer look', () => {
  const look = (graph: Graph, situation: Parameters<typeof facts>[0], ...requests: FinishRequest[]) =>
    closerLook(courseOf(graph), facts(situation), requests)

  it('is for the other parents of a node that is about to begin', () => {
    expect(look(diamond, { fanIns: { d: 1 } }, reportOn('c'))).toMatchObject({ parents: ['b'], waiting: [] })
  })

  it('is not taken while a parent is open', () => {
    expect(look(diamond, { fanIns: { d: 2 } }, reportOn('c'))).toBeNull()
    expect(look(diamond, {}, reportOn('c'))).toBeNull()
  })

  it('is not taken where all parents end together, or the only one does', () => {
    expect(look(diamond, {}, reportOn('b'), reportOn('c'))).toBeNull()
    expect(look(diamond, {}, reportOn('a'))).toBeNull()
    expect(look(chain('a', 'b'), {}, reportOn('a'))).toBeNull()
  })

  it('is for the parents of a node that is to be tried again', () => {
    const again: StepReport = { kind: 'reattempt', waitMs: 0, rewind: false, reason: null }
    expect(look(diamond, {}, reportOn('d', again))).toMatchObject({ parents: ['b', 'c'] })
    expect(look(diamond, {}, reportOn('d', threw({ action: 'reattempt' })))).toMatchObject({ parents: ['b', 'c'] })
    expect(look(chain('a', 'b'), {}, reportOn('b', again))).toMatchObject({ parents: ['a'] })
  })

  it.each<[StepReport, boolean]>([
    [{ kind: 'skip', by: 'condition', reason: null }, true],
    [{ kind: 'items', items: [] }, true],
    [threw({ action: 'skip' }), true],
    [threw({ action: 'reattempt', then: 'skip' }), true],
    [{ kind: 'items', items: ['1'] }, false],
    [{ kind: 'suspend', waitMs: 0, reason: null }, false],
    [{ kind: 'released' }, false],
  ])('counts %o as an end: %s', (report, ends) => {
    expect(look(diamond, { fanIns: { d: 1 } }, reportOn('c', report)) !== null).toBe(ends)
  })

  it('is for parents under all their names', () => {
    const renamed = graphOf({ a: '', now: 'a', c: 'a', d: 'now c' }, {}, { old: 'now' })
    expect(look(renamed, { fanIns: { d: 1 } }, reportOn('c'))).toMatchObject({ parents: ['now', 'old'] })
  })

  it('is for as many waiting items as may get a place', () => {
    const found = look(each, { fanIns: { all: 9 } }, reportOn('all/0'), reportOn('all/1', threw({ action: 'pause' })))
    expect(found).toMatchObject({ waiting: [{ prefix: 'all/', count: 2 }] })
    const free = graphOf({ all: '' }, { all: { kind: 'each' } })
    expect(look(free, { fanIns: { all: 9 } }, reportOn('all/0'))).toBeNull()
  })

  it('is for items under the present name of their node, where they wait', () => {
    const renamed = graphOf({ every: '' }, { every: { kind: 'each', concurrency: 1 } }, { all: 'every' })
    expect(look(renamed, { fanIns: { every: 9 } }, reportOn('all/0'))).toMatchObject({
      waiting: [{ prefix: 'every/', count: 1 }],
    })
  })

  it('is for the other parents of what follows the node of the last item', () => {
    expect(look(each, { fanIns: { all: 1, c: 1 } }, reportOn('all/0'))?.parents).toContain('b')
  })

  it('is not taken where the whole history is known, or the node is not', () => {
    expect(look(diamond, { latest: done('a', 'b'), fanIns: { d: 1 } }, reportOn('c'))).toBeNull()
    expect(look(diamond, {}, reportOn('lost'))).toBeNull()
  })
})

describe('ids for what follows', () => {
  const fan = graphOf({ a: '', b: 'a', c: 'a', d: 'b c' })

  it('are as many as nodes may follow, each once, however many lead there', () => {
    expect(usualFollowers(fan, [reportOn('a')])).toBe(2)
    expect(usualFollowers(fan, [reportOn('b'), reportOn('c')])).toBe(1)
    expect(usualFollowers(fan, [reportOn('d')])).toBe(0)
    expect(usualFollowers(chain('one', 'two'), [reportOn('one')])).toBe(1)
  })

  it('are one more where a step may come again', () => {
    expect(usualFollowers(fan, [reportOn('b', threw({ action: 'pause' })), reportOn('c')])).toBe(2)
  })

  it('are enough for items, once for all of them', () => {
    expect(usualFollowers(each, [reportOn('all', { kind: 'items', items: [1, 2, 3].map(String) } as never)])).toBe(
      3 + 1 + 2,
    )
    expect(usualFollowers(each, [reportOn('all/0'), reportOn('all/1')])).toBe(2)
  })
})
