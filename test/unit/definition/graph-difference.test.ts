/** What a deploy has changed in a graph, and how it is told. */
import { describe, expect, it } from 'vitest'
import { Graph } from '../../../src/definition/graph.ts'
import { describeDifference, differenceBetween } from '../../../src/definition/graph-difference.ts'
import { chain, graphOf } from '../engine/facts.ts'

const none = { added: [], removed: [], rewired: [], changed: [], renamed: [] }

describe('between two graphs', () => {
  it('nothing has changed where they are the same, whatever the order of parents', () => {
    const before = graphOf({ a: '', b: '', c: 'a b' })
    expect(differenceBetween(before, before)).toEqual(none)
    expect(differenceBetween(before, graphOf({ b: '', a: '', c: 'b a' }))).toEqual(none)
  })

  it('nodes were added and removed, and their neighbours rewired by that', () => {
    expect(differenceBetween(chain('a', 'gone', 'b'), chain('a', 'b', 'c'))).toEqual({
      ...none,
      added: ['c'],
      removed: ['gone'],
      rewired: ['b'],
    })
    expect(differenceBetween(chain('a', 'b'), chain('x', 'a', 'b'))).toEqual({ ...none, added: ['x'], rewired: ['a'] })
  })

  it('a node was rewired when it has another parent, one more or one less', () => {
    const before = graphOf({ a: '', b: '', c: 'a' })
    for (const parents of ['b', 'a b', '']) {
      expect(differenceBetween(before, graphOf({ a: '', b: '', c: parents }))).toEqual({ ...none, rewired: ['c'] })
    }
  })

  it('a node was renamed, and nobody counts as rewired by that', () => {
    const renamed = new Map([['old', 'now']])
    expect(differenceBetween(chain('a', 'old', 'b'), chain('a', 'now', 'b'), renamed)).toEqual({
      ...none,
      renamed: [{ from: 'old', to: 'now' }],
    })
    expect(differenceBetween(chain('a', 'old', 'b'), chain('now', 'a', 'b'), renamed)).toEqual({
      ...none,
      renamed: [{ from: 'old', to: 'now' }],
      rewired: ['now', 'a', 'b'],
    })
  })

  it('a map that says nothing about the two of them is not applied', () => {
    const renamed = new Map([['old', 'now']])
    expect(differenceBetween(chain('a'), chain('a', 'now'), renamed)).toEqual({ ...none, added: ['now'] })
    expect(differenceBetween(chain('old', 'now'), chain('now'), renamed)).toEqual({
      ...none,
      removed: ['old'],
      rewired: ['now'],
    })
    expect(differenceBetween(chain('old'), chain('b'), renamed)).toEqual({ ...none, added: ['b'], removed: ['old'] })
  })
})

describe('in words', () => {
  it('the parts that have something to say stand in one line', () => {
    const difference = {
      added: ['audit', 'mail'],
      removed: ['report'],
      rewired: ['ship'],
      changed: ['mail'],
      renamed: [{ from: 'charge', to: 'pay' }],
    }
    expect(describeDifference(difference)).toBe(
      'added audit, mail; removed report; renamed pay (was charge); rewired ship; changed mail',
    )
    expect(describeDifference({ ...none, removed: ['report'] })).toBe('removed report')
  })

  it('nothing is said to be nothing', () => {
    expect(describeDifference(none)).toBe('nothing changed')
  })
})

describe('in graphs with branches', () => {
  const { nodes, ...rest } = graphOf({ a: '', b: 'a', c: 'a', j: 'b c' }).data
  const withNode = (id: string, change: object) =>
    new Graph({ ...rest, nodes: nodes.map(node => (node.id === id ? { ...node, ...change } : node)) })
  const join = (rule: unknown, branches: string[][]) => withNode('j', { kind: 'join', join: { rule, branches } })

  it('a node was rewired when it waits for another answer, or for none', () => {
    const before = withNode('b', { guard: { condition: 'a', when: true } })
    expect(differenceBetween(before, before)).toEqual(none)
    const other = withNode('b', { guard: { condition: 'a', when: false } })
    expect(differenceBetween(before, other)).toEqual({ ...none, rewired: ['b'] })
    expect(differenceBetween(before, graphOf({ a: '', b: 'a', c: 'a', j: 'b c' }))).toEqual({ ...none, rewired: ['b'] })
  })

  it('a join was rewired when its branches part otherwise, and changed when its rule is another', () => {
    const before = join('all', [['b'], ['c']])
    expect(differenceBetween(before, join('all', [['c'], ['b']]))).toEqual(none)
    expect(differenceBetween(before, join('all', [['b', 'c']]))).toEqual({ ...none, rewired: ['j'] })
    expect(differenceBetween(before, join({ atLeast: 1 }, [['b'], ['c']]))).toEqual({ ...none, changed: ['j'] })
    expect(differenceBetween(join({ atLeast: 1 }, [['b'], ['c']]), join({ atLeast: 1 }, [['b'], ['c']]))).toEqual(none)
  })

  it('a node was changed when it asks something else', () => {
    const before = withNode('a', { kind: 'condition', test: 'x' })
    expect(differenceBetween(before, withNode('a', { kind: 'condition', test: 'y' }))).toEqual({
      ...none,
      changed: ['a'],
    })
  })

  it('nobody counts as rewired when a condition was renamed', () => {
    const guarded = (condition: string) =>
      new Graph({
        ...rest,
        nodes: graphOf({ [condition]: '', b: condition }).nodes.map(node =>
          node.id === 'b' ? { ...node, guard: { condition, when: true } } : node,
        ),
      })
    expect(differenceBetween(guarded('old'), guarded('now'), new Map([['old', 'now']]))).toEqual({
      ...none,
      renamed: [{ from: 'old', to: 'now' }],
    })
  })
})
