/** Forks, conditions and steps nested at random: whatever is declared comes to a graph that can run. */
// biome-ignore-all lint/suspicious/noThenProperty: `then` is a branch of a condition.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { definitionOf } from '../../../src/definition/compile.ts'
import { type Graph, orderOf } from '../../../src/definition/graph.ts'
import { differenceBetween } from '../../../src/definition/graph-difference.ts'
import { signatureOf } from '../../../src/definition/resolve-dependencies.ts'
import { Workflow } from '../../../src/definition/workflow.ts'

type Plan =
  | { kind: 'step' | 'task' | 'inline' }
  | { kind: 'fork'; join: unknown; branches: Plan[][] }
  | { kind: 'parallel'; join: unknown; members: Plan[] }
  | { kind: 'condition'; then?: Plan[]; else?: Plan[] }

const joins = fc.constantFrom<unknown>('all', 'any', 'settled', false, { atLeast: 1 }, { atLeast: 2 })

const plans = fc.letrec<{ chain: Plan[]; node: Plan }>(tie => ({
  chain: fc.array(tie('node'), { minLength: 1, maxLength: 3, depthIdentifier: 'nesting' }),
  node: fc.oneof(
    { maxDepth: 4, depthIdentifier: 'nesting' },
    fc.record({ kind: fc.constantFrom('step' as const, 'task' as const, 'inline' as const) }),
    fc.record({
      kind: fc.constant('fork' as const),
      join: joins,
      branches: fc.array(tie('chain'), { minLength: 2, maxLength: 3 }),
    }),
    fc.record({
      kind: fc.constant('parallel' as const),
      join: joins,
      members: fc.array(tie('node'), { minLength: 2, maxLength: 3 }),
    }),
    fc.record({ kind: fc.constant('condition' as const), then: tie('chain'), else: tie('chain') }),
    fc.record({ kind: fc.constant('condition' as const), then: tie('chain') }),
    fc.record({ kind: fc.constant('condition' as const), else: tie('chain') }),
  ) as fc.Arbitrary<Plan>,
})).chain

function graphOf(chain: readonly Plan[]): Graph {
  let count = 0
  const declareAll = (w: any, nodes: readonly Plan[]) => {
    for (const node of nodes) declareOne(w, node)
  }
  const declareOne = (w: any, node: Plan) => {
    const name = `node${count++}`
    if (node.kind === 'fork') {
      const branches = node.branches.map((branch, index) => [`b${index}`, (b: any) => declareAll(b, branch)] as const)
      w.fork(name, Object.fromEntries(branches), { join: node.join })
    } else if (node.kind === 'parallel') w.parallel(name, (b: any) => declareAll(b, node.members), { join: node.join })
    else if (node.kind === 'condition') {
      const { then, else: otherwise } = node
      w.condition(name, () => true, {
        ...(then && { then: (b: any) => declareAll(b, then) }),
        ...(otherwise && { else: (b: any) => declareAll(b, otherwise) }),
      })
    } else if (node.kind === 'inline') w.inline(name, () => {})
    else if (node.kind === 'step') w.inline(name, { wait: 5 }, () => {})
    else w.inline(name, { dependsOn: null }, () => {})
  }
  class Nested extends Workflow<any, any> {
    static {
      declareAll(this, chain)
    }
  }
  return definitionOf(Nested).graph
}

describe('any nesting of forks, conditions and steps', () => {
  test('gives an acyclic graph in which every node is reachable', () => {
    fc.assert(
      fc.property(plans, chain => {
        const graph = graphOf(chain)
        expect(orderOf(graph.nodes).left).toEqual([])
        const reached = new Set(graph.entries.flatMap(({ id }) => [id, ...graph.descendantsOf(id)]))
        expect(reached.size).toBe(graph.size)
      }),
    )
  })

  test('gives joins whose branches part what they depend on, and no rule that cannot be met', () => {
    fc.assert(
      fc.property(plans, chain => {
        for (const { dependsOn, join, kind } of graphOf(chain).nodes) {
          expect(join !== undefined).toBe(kind === 'join')
          if (!join) continue
          expect(join.branches.flat().toSorted()).toEqual(dependsOn.toSorted())
          expect(new Set(dependsOn).size).toBe(dependsOn.length)
          expect(join.branches.every(branch => branch.length > 0)).toBe(true)
          if (typeof join.rule === 'object') expect(join.rule.atLeast).toBeLessThanOrEqual(join.branches.length)
        }
      }),
    )
  })

  test('guards exactly those members of a condition that depend on no other member of its branch', () => {
    fc.assert(
      fc.property(plans, chain => {
        const graph = graphOf(chain)
        for (const { guard, dependsOn } of graph.nodes) {
          if (!guard) continue
          expect(dependsOn).toContain(guard.condition)
          expect(graph.node(guard.condition).kind).toBe('condition')
        }
        for (const { id, kind } of graph.nodes) {
          if (kind === 'condition') expect(graph.nodes.some(node => node.guard?.condition === id)).toBe(true)
        }
      }),
    )
  })

  test('gives the same signature again, and no difference to itself', () => {
    fc.assert(
      fc.property(plans, chain => {
        const [one, other] = [graphOf(chain), graphOf(chain)]
        expect(signatureOf(one)).toBe(signatureOf(other))
        const none = { added: [], removed: [], rewired: [], changed: [], renamed: [] }
        expect(differenceBetween(one, other)).toEqual(none)
      }),
    )
  })
})
