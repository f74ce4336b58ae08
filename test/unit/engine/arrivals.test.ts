/** What a process remembers of branches that end one after the other, and when it must not go by it. */
import { describe, expect, it } from 'vitest'
import { noArrivals, RecentArrivals } from '../../../src/engine/arrivals.ts'
import type { Ending, WorkflowChange } from '../../../src/store/change.ts'
import { changeOf } from '../../support/open-store.ts'
import { graphOf, rowOf } from './facts.ts'

const graph = graphOf({ a: '', b: 'a', c: 'a', d: 'a', e: 'a', j: 'b c d e', k: 'j' })
const version = 3

function ending(node: string, more: Partial<Ending> = {}): Ending {
  const execution = rowOf(node, { id: `id-${node}`, input: '"long"', ancestry: { hash: `#${node}`, parents: ['1'] } })
  return { execution, state: 'completed', outcome: 'success', error: null, reason: null, output: null, ...more }
}

interface Counted extends Partial<WorkflowChange> {
  readonly id?: string
  readonly at?: number
}

const begins = (node: string, open: number) => ({
  inserted: [{ node, open }],
  updated: [],
  removed: [],
  cleared: false,
})
const counts = (node: string, open: number, by: number) => ({
  inserted: [],
  updated: [{ node, open, by }],
  removed: [],
  cleared: false,
})

function decided({ id = '7', at = version, ...more }: Counted) {
  return { change: changeOf(id, more), graph, version: at }
}

function openPromise() {
  let resolve: (now: number) => void = () => {}
  const promise = new Promise<number>(done => {
    resolve = done
  })
  return { promise, resolve }
}

describe('what was written after a look', () => {
  it('is remembered while parents are open: how many, and which have completed, without what is large about them', () => {
    const recent = new RecentArrivals()
    recent.note(decided({ fanIns: begins('j', 2), endings: [ending('b'), ending('c')] }))
    expect(recent.of('7')).toMatchObject({ version, open: new Map([['j', 2]]) })
    expect([...recent.of('7').ended.values()]).toMatchObject([
      { id: 'id-b', node: 'b', input: null, ancestry: { hash: '#b', parents: [] } },
      { id: 'id-c', node: 'c', input: null, ancestry: { hash: '#c', parents: [] } },
    ])
    expect(recent.of('8')).toBe(noArrivals)
  })

  it('is not remembered of what has not completed for good, nor of what leads to nothing that is counted', () => {
    const recent = new RecentArrivals()
    const skipped = ending('b', { state: 'skipped', outcome: 'not_taken' })
    const endings = [ending('a'), skipped, ending('c'), ending('d', { outcome: 'reattempted' }), ending('k')]
    recent.note(decided({ fanIns: begins('j', 2), endings }))
    expect([...recent.of('7').ended.keys()]).toEqual(['c'])
  })

  it('is the smaller number, where changes are heard of in another order than they were made in', () => {
    const recent = new RecentArrivals()
    recent.note(decided({ fanIns: counts('j', 1, 2) }))
    recent.note(decided({ fanIns: begins('j', 3) }))
    expect(recent.of('7').open.get('j')).toBe(1)
  })

  it('is counted down by each of several that were decided on at the same time', () => {
    const recent = new RecentArrivals()
    recent.note(decided({ fanIns: begins('j', 9) }))
    recent.note(decided({ fanIns: counts('j', 7, 2) }))
    recent.note(decided({ fanIns: counts('j', 6, 3) }))
    expect(recent.of('7').open.get('j')).toBe(4)
  })

  it.each([
    ['the workflow has another version', { at: version + 1, fanIns: begins('j', 1) }, 0],
    [
      'no parent is open any more',
      { fanIns: { inserted: [], updated: [], removed: [{ node: 'j' }], cleared: false } },
      0,
    ],
    ['the workflow has ended', { fanIns: { inserted: [], updated: [], removed: [], cleared: true } }, 0],
  ] as const)('is forgotten where %s', (_, next, left) => {
    const recent = new RecentArrivals()
    recent.note(decided({ fanIns: begins('j', 2), endings: [ending('b')] }))
    expect(recent.of('7').ended.size).toBe(1)
    recent.note(decided(next))
    expect(recent.of('7').ended.size).toBe(left)
  })

  it('is not more than a process can hold: the workflow that was counted least recently is forgotten', () => {
    const recent = new RecentArrivals()
    const names = Array.from({ length: 4900 }, (_, index) => `p${index}`)
    const nodes = Object.fromEntries(names.map(name => [name, '']))
    const wide = graphOf({ ...nodes, last: '', j: [...names, 'last'].join(' ') })
    const endings = names.map(name => ending(name))
    for (let id = 1; id <= 5; id++) {
      recent.note({ change: changeOf(`${id}`, { fanIns: begins('j', 1), endings }), graph: wide, version })
      if (id === 2) recent.note({ change: changeOf('1', { fanIns: counts('j', 1, 0) }), graph: wide, version })
    }
    expect(['1', '2', '3', '4', '5'].map(id => recent.of(id).ended.size)).toEqual([4900, 0, 4900, 4900, 4900])
  })
})

describe('nodes that begin together', () => {
  const begun = (...nodes: string[]) => decided({ insertions: nodes.map(node => rowOf(node) as never) })

  it('are known to have been counted by nobody, where they are all parents of what follows', () => {
    const recent = new RecentArrivals()
    recent.note(begun('b', 'c', 'd', 'e'))
    expect([...recent.of('7').fresh]).toEqual(['j'])
    recent.note(decided({ fanIns: begins('j', 3), endings: [ending('b')] }))
    expect([...recent.of('7').fresh]).toEqual([])
  })

  it('are not where others may have ended before them', () => {
    const recent = new RecentArrivals()
    recent.note(begun('b', 'c', 'd'))
    expect(recent.of('7')).toBe(noArrivals)
  })
})

describe('what is being written without a look', () => {
  it('is counted for whoever decides meanwhile, and its ends are there once it is written', async () => {
    const recent = new RecentArrivals()
    recent.note(decided({ fanIns: begins('j', 3), endings: [ending('b')] }))
    const { promise, resolve } = openPromise()
    const first = recent.during([decided({ fanIns: counts('j', 2, 1), endings: [ending('c')] })], () => promise)
    expect(recent.of('7').open.get('j')).toBe(2)
    expect([...recent.of('7').ended.keys()]).toEqual(['b'])
    const settled = recent.settled('7')
    expect(settled).not.toBeNull()
    resolve(1)
    expect(await first).toBe(1)
    await settled
    expect([...recent.of('7').ended.keys()]).toEqual(['b', 'c'])
    expect(recent.settled('7')).toBeNull()
  })

  it.each([
    ['was refuted', async () => null],
    ['has failed', async () => Promise.reject(new Error('away'))],
  ])('is forgotten, with all that was known of the workflow, where it %s', async (_, write) => {
    const recent = new RecentArrivals()
    recent.note(decided({ fanIns: begins('j', 3), endings: [ending('b')] }))
    await recent.during([decided({ fanIns: counts('j', 2, 1), endings: [ending('c')] })], write).catch(() => null)
    expect(recent.of('7')).toBe(noArrivals)
    expect(recent.settled('7')).toBeNull()
  })

  it('does not come back when another one was refuted meanwhile', async () => {
    const recent = new RecentArrivals()
    recent.note(decided({ fanIns: begins('j', 3) }))
    const { promise, resolve } = openPromise()
    const first = recent.during([decided({ fanIns: counts('j', 2, 1), endings: [ending('c')] })], () => promise)
    await recent.during([decided({ fanIns: counts('j', 1, 1), endings: [ending('d')] })], async () => null)
    resolve(1)
    await first
    expect(recent.of('7')).toBe(noArrivals)
  })
})
