/** The shape of a workflow: what follows what, and which nodes a change of order has put behind where they were. */
import { expect, it } from 'vitest'
import { findNode, type Graph, movedBack, nodeAfter } from '../../../src/definition/graph.ts'

function chain(names: string): Graph {
  const nodes = [...names].map(name => ({ name, kind: 'step' as const, waitMs: 0, queue: 'default', priority: 0 }))
  return { type: 'Sample', queue: 'default', priority: 0, nodes }
}

it('a node is found by its name', () => {
  expect(findNode(chain('ab'), 'b')?.name).toBe('b')
  expect(findNode(chain('ab'), 'x')).toBeNull()
})

it('a node is followed by the next one, the last by none, and an unknown one is told from the last', () => {
  expect(nodeAfter(chain('ab'), 'a')?.name).toBe('b')
  expect(nodeAfter(chain('ab'), 'b')).toBeNull()
  expect(nodeAfter(chain('ab'), 'x')).toBeUndefined()
})

it.each([
  ['abc', ['abc'], ''],
  ['abc', [], ''],
  ['axbyc', ['abc'], ''],
  ['ac', ['abc'], ''],
  ['xyz', ['abc'], ''],
  ['bac', ['abc'], 'a'],
  ['bca', ['abc'], 'a'],
  ['cab', ['abc'], 'ab'],
  ['bda', ['abc'], 'a'],
  ['abc', ['abc', 'bac'], 'b'],
  ['abc', ['cba'], 'bc'],
])('of %s, where others had %s, these were moved back: %s', (graph, others, moved) => {
  expect([...movedBack(chain(graph), others.map(chain))].toSorted().join('')).toBe(moved)
})
