/** What a worker may take as known of its reports, and where it has to look. */
import { describe, expect, it } from 'vitest'
import type { Graph } from '../../../src/definition/graph.ts'
import { noArrivals } from '../../../src/engine/arrivals.ts'
import { assumedFacts } from '../../../src/engine/assume.ts'
import type { Course } from '../../../src/engine/courses.ts'
import type { FinishRequest } from '../../../src/engine/finish-request.ts'
import { IdPool, IdReserve } from '../../../src/engine/id-pool.ts'
import type { AssumedFacts } from '../../../src/store/change.ts'
import type { WorkflowRecord } from '../../../src/store/records.ts'
import { chain, courseOf, diamond, facts, graphOf, latest, requestOn, row, rowOf } from './facts.ts'

const ids = new IdReserve({ takeIds: async count => Array.from({ length: count }, String) })
const { workflow } = facts({})

function request(execution: ReturnType<typeof row>, more: Partial<FinishRequest> = {}): FinishRequest {
  return requestOn(execution, workflow, { ids: new IdPool(ids), ...more })
}

function assumed(graph: Graph, requests: readonly FinishRequest[], more: Partial<Course> = {}) {
  return settled(assumedFacts(courseOf(graph, more), requests, noArrivals))
}

function settled(found: AssumedFacts | 'later' | null): AssumedFacts | null {
  if (found === 'later') throw new Error('They are known only later.')
  return found
}

/** Where this process has seen counters a moment ago, and has recorded these ends. */
const known = (graph: Graph, lately: Readonly<Record<string, number>>, ended: string, ...nodes: string[]) =>
  assumedFacts(
    courseOf(graph),
    nodes.map(node => request(rowOf(node))),
    {
      version: workflow.version,
      open: new Map(Object.entries(lately)),
      fresh: new Set<string>(),
      ended: new Map(ended.split(' ').map(node => [node, latest({ node })])),
    },
  )

const knowing = (...about: Parameters<typeof known>) => settled(known(...about))

const of = (graph: Graph, ...nodes: string[]) =>
  assumed(
    graph,
    nodes.map(node => request(rowOf(node))),
  )

describe('a report on a chain', () => {
  it('is known, with the one row that there is', () => {
    const known = assumed(chain('a', 'b'), [request(row())])
    expect(known).toMatchObject({ complete: true, othersGoOn: false, uncounted: [] })
    expect(known?.active.map(({ id }) => id)).toEqual(['8'])
  })
})

describe('reports on a graph', () => {
  it('are known where what follows waits for nobody else', () => {
    const known = of(diamond, 'a')
    expect(known).toMatchObject({ complete: false, othersGoOn: null, uncounted: [] })
    expect(of(diamond, 'd')).toMatchObject({ uncounted: [] })
  })

  it('are known where they are about all parents of what follows, which nobody has counted down', () => {
    const known = of(diamond, 'b', 'c')
    expect(known?.uncounted).toEqual(['d'])
    expect(known?.active.map(({ node }) => node)).toEqual(['b', 'c'])
  })

  it('are looked at where another branch may have been counted', () => {
    expect(of(diamond, 'b')).toBeNull()
    expect(of(graphOf({ a: '', b: 'a', c: 'a', d: 'a', e: 'b c d' }), 'b', 'c')).toBeNull()
  })

  const wide = graphOf({ a: '', b: 'a', c: 'a', d: 'a', e: 'a', j: 'b c d e' })

  it('are known where others are open still, as far as was seen, and are counted only', () => {
    expect(knowing(wide, { j: 3 }, 'b', 'c', 'd')).toMatchObject({
      uncounted: [],
      counted: [{ node: 'j', by: 2, leaves: 'some' }],
      fanIns: new Map([['j', 3]]),
    })
    expect(knowing(wide, { other: 3 }, 'b', 'c', 'd')).toBeNull()
  })

  it('are known where no others are open, as far as was seen, and all that have ended were recorded here', () => {
    const last = knowing(wide, { j: 2 }, 'b c', 'd', 'e')
    expect(last).toMatchObject({ uncounted: [], counted: [{ node: 'j', by: 2, leaves: 'none' }] })
    expect([...(last?.parents.keys() ?? [])]).toEqual(['b', 'c'])
    // Perhaps it is being written.
    expect(known(wide, { j: 2 }, 'b', 'd', 'e')).toBe('later')
    // Somebody else has counted one that is said to be open.
    expect(knowing(wide, { j: 1 }, 'b c', 'd', 'e')).toBeNull()
  })

  it('are known where all parents have begun together and none has been counted', () => {
    const arrivals = { ...noArrivals, version: workflow.version, fresh: new Set(['j']) }
    const first = settled(assumedFacts(courseOf(wide), [request(rowOf('b'))], arrivals))
    expect(first).toMatchObject({ uncounted: ['j'], counted: [] })
    expect(first?.fanIns.size).toBe(0)
  })

  it('are looked at where what was seen is of another version of the workflow', () => {
    const arrivals = { ...noArrivals, version: workflow.version + 1, open: new Map([['j', 3]]) }
    expect(assumedFacts(courseOf(wide), [request(rowOf('b'))], arrivals)).toBeNull()
  })

  it('count some and complete others', () => {
    const both = graphOf({ a: '', b: 'a', c: 'a', d: 'a', j: 'b c', k: 'b c d' })
    expect(knowing(both, { k: 3 }, '', 'b', 'c')).toMatchObject({
      uncounted: ['j'],
      counted: [{ node: 'k', by: 2, leaves: 'some' }],
    })
    const leaves = graphOf({ a: '', b: 'a', c: 'a', d: 'a' })
    expect(knowing(leaves, { '': 2 }, '', 'b')).toMatchObject({ counted: [{ node: '', by: 1, leaves: 'some' }] })
    // The end of a workflow comes after nothing in particular.
    expect(knowing(leaves, { '': 1 }, '', 'b')).toMatchObject({ counted: [{ node: '', by: 1, leaves: 'none' }] })
  })

  it('count the ends of all branches towards the end of the workflow', () => {
    const leaves = graphOf({ a: '', b: 'a', c: 'a' })
    expect(of(leaves, 'b', 'c')?.uncounted).toHaveLength(1)
    expect(of(leaves, 'b')).toBeNull()
  })

  it('are followed past nodes that do nothing themselves', () => {
    const joined = graphOf(
      { a: '', f: 'a', b: 'f', c: 'f', j: 'b c', x: '', d: 'j x' },
      { f: { kind: 'fork' }, j: { kind: 'savePoint' } },
    )
    expect(of(joined, 'a')?.uncounted).toEqual([])
    // The node behind the two of them waits for `x` as well.
    expect(of(joined, 'b', 'c')).toBeNull()
    expect(of(joined, 'b', 'c', 'x')?.uncounted).toEqual(['j', 'd'])
  })

  it('are looked at where a condition decides what follows', () => {
    const guarded = graphOf({ a: '', b: 'a' }, { b: { guard: { condition: 'a', when: true } } })
    const behind = graphOf({ x: '', a: '', b: 'a x' }, { b: { guard: { condition: 'a', when: true } } })
    expect(guarded.isChain).toBe(false)
    expect(of(guarded, 'a')).toBeNull()
    expect(of(behind, 'x')).toBeNull()
    expect(of(behind, 'a', 'x')).toBeNull()
  })

  it('are looked at where they speak of different states of the workflow', () => {
    const later: WorkflowRecord = { ...workflow, version: workflow.version + 1 }
    const claimed = { execution: rowOf('c'), workflow: later, input: null }
    expect(assumed(diamond, [request(rowOf('b')), request(rowOf('c'), { claimed })])).toBeNull()
  })

  it.each([
    ['one was given back', [request(rowOf('b')), request(rowOf('c'), { report: { kind: 'released' } })]],
    ['one was reported before', [request(rowOf('b')), request(rowOf('c'), { repeated: true })]],
    ['one undoes a step', [request(rowOf('b')), request(rowOf('c', { kind: 'compensate' }))]],
  ] as const)('are looked at where %s', (_, requests) => {
    expect(assumed(diamond, requests)).toBeNull()
  })

  it.each([
    ['has gone back', { rounds: { a: 1 } }],
    ['is paused', { state: 'paused' }],
    ['has a step that blocks it', { blockedBy: 'b' }],
    ['has a dead letter', { openLetters: 1 }],
    ['is told to finish', { finishing: true }],
  ] as const)('are looked at where the workflow %s', (_, now) => {
    const claimed = { execution: rowOf('a'), workflow: { ...workflow, ...now } as WorkflowRecord, input: null }
    expect(assumed(diamond, [request(rowOf('a'), { claimed })])).toBeNull()
  })

  it('are looked at where the graph has changed, or other code is in charge', () => {
    expect(assumed(diamond, [request(rowOf('a'))], { heals: true })).toBeNull()
    expect(assumed(diamond, [request(rowOf('a'))], { isOwn: false })).toBeNull()
  })
})
