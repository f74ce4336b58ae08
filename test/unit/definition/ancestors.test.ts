/** Whether nodes come after others, compared with simply following every edge. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type AncestorPair, unmetPair } from '../../../src/definition/ancestors.ts'
import { Graph, type GraphNode } from '../../../src/definition/graph.ts'

function graphOf(parents: readonly (readonly number[])[]): Graph {
  const nodes = parents.map((dependsOn, index): GraphNode => {
    const id = String(index)
    return { id, name: id, kind: 'step', waitMs: 0, queue: '', priority: 0, dependsOn: dependsOn.map(String) }
  })
  return new Graph({ type: null, queue: '', priority: 0, nodes })
}

const size = 100
const batchAndMore = 45

/** Sparse enough that about half of the pairs that could hold do not. */
const graphs = fc
  .tuple(
    ...Array.from({ length: size }, (_, index) =>
      index === 0 ? fc.constant([]) : fc.uniqueArray(fc.nat(index - 1), { maxLength: 2 }),
    ),
  )
  .map(graphOf)

it.each<[string, (first: number, last: number) => boolean]>([
  ['few are asked for', first => first < batchAndMore],
  ['few ask', (_first, last) => last >= size - batchAndMore],
])('a pair is unmet exactly when no way leads from the one to the other, where %s', (_what, isAsked) => {
  fc.assert(
    fc.property(graphs, fc.nat(), (graph, choice) => {
      const order = graph.inOrder()
      const held: AncestorPair[] = []
      const unmet: AncestorPair[] = []
      for (const [first, { id: ancestor }] of order.entries()) {
        const descendants = graph.descendantsOf(ancestor)
        for (const [last, { id: node }] of order.entries()) {
          if (last <= first || !isAsked(first, last)) continue
          const list = descendants.has(node) ? held : unmet
          list.push({ node, ancestor })
        }
      }
      expect(unmetPair(order, held)).toBeNull()
      const wrong = unmet[choice % unmet.length]
      if (wrong) expect(unmetPair(order, [...held, wrong])).toEqual(wrong)
    }),
    { numRuns: 50 },
  )
})

it('no pair holds backwards, or of a node with itself', () => {
  const { nodes } = graphOf([[], [0]])
  for (const ancestor of ['1', '0']) {
    expect(unmetPair(nodes, [{ node: '0', ancestor }])).toEqual({ node: '0', ancestor })
  }
})

const length = 10_000
const chain = graphOf(Array.from({ length }, (_, index) => (index === 0 ? [] : [index - 1])))

it.each<[string, (index: number) => number]>([
  ['the same one', () => 0],
  ['the one before the last', index => index - 2],
  ['one half the graph away', index => index - length / 2],
])('many nodes may each ask for %s', (_what, ancestorOf) => {
  const pairs = Array.from({ length }, (_, index) => ({ node: `${index}`, ancestor: `${ancestorOf(index)}` }))
  const met = pairs.filter((_, index) => index > 0 && ancestorOf(index) >= 0)
  expect(unmetPair(chain.inOrder(), met)).toBeNull()
  const wrong = { node: '5', ancestor: '7' }
  expect(unmetPair(chain.inOrder(), [...met, wrong])).toEqual(wrong)
})
