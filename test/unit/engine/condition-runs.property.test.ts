/**
 * Random graphs with conditions, whose nodes also depend on whatever they like: however their steps end, alone or together, every
 * node is done or left out once, a condition keeps out what it should, and a workflow ends when nothing of it is left, and not before.
 */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { GraphNode } from '../../../src/definition/graph.ts'
import { completed, graphOf } from './facts.ts'
import { PlayedWorkflow } from './played-workflow.ts'

interface Shape {
  readonly name: string
  readonly parents: readonly string[]
  readonly asks: boolean
  /** Runs only if that parent, a condition, comes out so. */
  readonly guard: { readonly condition: string; readonly when: boolean } | null
}

const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']

const anyNode = fc.record({
  mask: fc.nat({ max: 127 }),
  kind: fc.constantFrom('step' as const, 'condition' as const, 'condition' as const),
  guarded: fc.constantFrom('yes', 'yes', 'no'),
  when: fc.boolean(),
})

const anyShapes: fc.Arbitrary<Shape[]> = fc.array(anyNode, { minLength: 1, maxLength: names.length }).map(nodes => {
  const shapes: Shape[] = []
  for (const [index, { mask, kind, guarded, when }] of nodes.entries()) {
    const parents = names.slice(0, index).filter((_, before) => (mask >> before) & 1)
    const condition = shapes.find(({ name, asks }) => asks && parents.includes(name))?.name
    const guard = condition !== undefined && guarded === 'yes' ? { condition, when } : null
    shapes.push({ name: names[index] ?? '', parents, asks: kind === 'condition', guard })
  }
  return shapes
})

const anyTurn = fc.record({ which: fc.nat({ max: 20 }), together: fc.nat({ max: 3 }), result: fc.boolean() })

function graphFrom(shapes: readonly Shape[]) {
  const edges = Object.fromEntries(shapes.map(({ name, parents }) => [name, parents.join(' ')]))
  const more = shapes.map(({ name, asks, guard }): [string, Partial<GraphNode>] => {
    return [name, { ...(asks ? { kind: 'condition' } : {}), ...(guard === null ? {} : { guard }) }]
  })
  return graphOf(edges, Object.fromEntries(more))
}

it('every run of every graph with conditions ends when nothing of it is left, and not before', () => {
  fc.assert(
    fc.property(anyShapes, fc.array(anyTurn, { minLength: 8, maxLength: 8 }), (shapes, turns) => {
      const wf = new PlayedWorkflow(graphFrom(shapes))
      const results = new Map<string, boolean>()
      for (let turn = 0; wf.rows.size > 0; turn++) {
        const { which, together, result } = turns[turn % turns.length] ?? { which: 0, together: 0, result: true }
        const open = [...wf.rows.values()].map(row => row.node)
        const at = which % open.length
        const reported = open.slice(at, at + together + 1)
        for (const node of reported) results.set(node, result)
        wf.report(
          ...reported.map(node => {
            const asks = shapes.find(({ name }) => name === node)?.asks
            return [node, asks ? { ...completed, output: String(result), result } : completed] as const
          }),
        )
        expect(wf.workflow.state === 'finished', 'it has ended exactly when nothing is left').toBe(wf.rows.size === 0)
      }
      expect(wf.counters.size, 'nor is a counter').toBe(0)
      for (const { name, guard } of shapes) {
        const attempts = wf.attemptsAt(name)
        expect(attempts, `${name} is done or left out once`).toHaveLength(1)
        const isKeptOut = guard !== null && results.get(guard.condition) !== guard.when
        if (isKeptOut) expect(attempts[0]?.outcome, `${name} was not taken`).toBe('not_taken')
      }
    }),
    { numRuns: 300 },
  )
})
