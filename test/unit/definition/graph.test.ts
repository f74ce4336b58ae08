/** The shape of a workflow: its edges both ways, its entries and leaves, its items, and the order and cycles of its nodes. */
import { describe, expect, it } from 'vitest'
import { cycleIn, Graph, type GraphNode, orderOf } from '../../../src/definition/graph.ts'

/** Each node with what it depends on, as `{ a: '', b: 'a', c: 'a b' }`. */
function nodesOf(edges: Readonly<Record<string, string>>, more: Partial<GraphNode> = {}): GraphNode[] {
  return Object.entries(edges).map(([name, parents]) => ({
    id: name,
    name: name.toUpperCase(),
    kind: 'step',
    waitMs: 0,
    queue: 'default',
    priority: 0,
    dependsOn: parents.split(' ').filter(parent => parent !== ''),
    ...more,
  }))
}

function graphOf(edges: Readonly<Record<string, string>>, more: Partial<GraphNode> = {}): Graph {
  return new Graph({ type: 'Sample', queue: 'default', priority: 0, nodes: nodesOf(edges, more) })
}

const diamond = graphOf({ a: '', b: 'a', c: 'a', d: 'b c' })
const ids = (nodes: Iterable<GraphNode>) => [...nodes].map(node => node.id).join('')

describe('a graph', () => {
  it('knows its edges both ways, its entries and its leaves', () => {
    expect(ids(diamond.entries)).toBe('a')
    expect(ids(diamond.leaves)).toBe('d')
    expect(ids(diamond.childrenOf('a'))).toBe('bc')
    expect(ids(diamond.childrenOf('d'))).toBe('')
    expect(ids(diamond.childrenOf('x'))).toBe('')
    expect(diamond.node('d').dependsOn).toEqual(['b', 'c'])
  })

  it('has several entries and leaves where nothing joins them', () => {
    const apart = graphOf({ a: '', b: '', c: 'a b', d: 'a', e: '' })
    expect(ids(apart.entries)).toBe('abe')
    expect(ids(apart.leaves)).toBe('cde')
    expect(apart.size).toBe(5)
  })

  it('finds a node by its id, and says of one that it does not have whose graph it is', () => {
    expect(diamond.find('b')?.name).toBe('B')
    expect(diamond.find('x')).toBeNull()
    expect(() => diamond.node('x')).toThrow('The graph of Sample has no node x.')
    expect(() => new Graph({ ...diamond.data, type: null }).node('x')).toThrow('The graph of a workflow has no node x.')
  })

  it('tells all that comes after a node, without the node itself and each once', () => {
    expect([...diamond.descendantsOf('a')].toSorted().join('')).toBe('bcd')
    expect([...diamond.descendantsOf('b')].join('')).toBe('d')
    expect([...diamond.descendantsOf('d')].join('')).toBe('')
  })

  it('keeps what it was made from, with the former names', () => {
    expect(diamond.renamed.size).toBe(0)
    const renamed = new Graph({ ...diamond.data, renamed: { old: 'a' } })
    expect(renamed.renamed.get('old')).toBe('a')
    expect(renamed.nodes).toBe(diamond.nodes)
    expect(renamed.type).toBe('Sample')
  })
})

describe('a chain', () => {
  it.each([
    [{}, true],
    [{ a: '' }, true],
    [{ a: '', b: 'a', c: 'b' }, true],
    [{ c: 'b', b: 'a', a: '' }, true],
    [{ a: '', b: '' }, false],
    [{ a: '', b: 'a', c: 'a' }, false],
    [{ a: '', b: 'a', c: 'a b' }, false],
    [{ a: '', b: '', c: 'a b' }, false],
  ])('is %j: %s', (edges, expected) => {
    expect(graphOf(edges as Record<string, string>).isChain).toBe(expected)
  })

  it('is none with an `each` node, which has many rows at once', () => {
    expect(graphOf({ a: '' }, { kind: 'each' }).isChain).toBe(false)
    expect(graphOf({ a: '' }, { kind: 'resumable' }).isChain).toBe(true)
  })
})

describe('an item of an `each` node', () => {
  const each = graphOf({ all: '' }, { kind: 'each', waitMs: 5, queue: 'slow', concurrency: 2 })

  it('is made up from the node that it belongs to, and waits for nothing but that', () => {
    expect(each.find('all/12')).toMatchObject({
      id: 'all/12',
      name: 'all/12',
      kind: 'item',
      waitMs: 0,
      queue: 'slow',
      dependsOn: ['all'],
    })
    expect(each.eachOf('all/0')?.id).toBe('all')
  })

  it.each(['all', 'all/', 'all/x', 'all/1x', 'all/-1', 'other/1', '/1', '', 'all/1/2'])('is not %j', id => {
    expect(each.eachOf(id)).toBeNull()
  })

  it('is none of a plain step', () => {
    expect(diamond.eachOf('a/0')).toBeNull()
    expect(diamond.find('a/0')).toBeNull()
  })
})

describe('the order of nodes', () => {
  it('has parents before children, else the order of their declaration', () => {
    expect(ids(graphOf({ d: 'b c', c: 'a', b: 'a', a: '' }).inOrder())).toBe('acbd')
    expect(ids(diamond.inOrder())).toBe('abcd')
    expect(ids(graphOf({ a: '', b: '', c: '' }).inOrder())).toBe('abc')
  })

  it('leaves over what stands in a cycle or behind one', () => {
    const { order, left } = orderOf(nodesOf({ a: '', b: 'a d', c: 'b', d: 'c', e: 'd' }))
    expect(ids(order)).toBe('a')
    expect(ids(left)).toBe('bcde')
  })
})

describe('a cycle', () => {
  it.each([
    [{ a: '', b: 'a' }, null],
    [{ a: 'a' }, 'A A'],
    [{ a: 'b', b: 'a' }, 'A B A'],
    [{ a: '', b: 'a d', c: 'b', d: 'c' }, 'B C D B'],
    // What only stands behind the cycle is not named.
    [{ e: 'c', a: 'c', b: 'a', c: 'b' }, 'C A B C'],
    [{}, null],
  ])('of %j is %s', (edges, expected) => {
    const cycle = cycleIn(nodesOf(edges as Record<string, string>))
    expect(cycle?.join(' ') ?? null).toBe(expected)
  })
})
