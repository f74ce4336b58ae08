/** The stored form of graphs: there and back without a difference, and equal signatures for equal structures. */
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { buildGraph } from '../../../src/definition/build-graph.ts'
import { freezeClassGraph, graphOfFrozen } from '../../../src/definition/frozen-graph.ts'
import { Graph, type GraphNode } from '../../../src/definition/graph.ts'
import type { GraphBuilder, NodeSettings } from '../../../src/definition/graph-builder.ts'
import { defineJob } from '../../../src/definition/job.ts'
import { parseFrozenGraph } from '../../../src/definition/parse-frozen-graph.ts'
import { add, defaults, exported, frozenAt, idOf, keep, nodeNamed, sweep, thrownBy, total } from './sample-graphs.ts'

describe('a frozen graph', () => {
  it('is a readable document', () => {
    const validate = defineJob('ValidateOrderJob', (args: { order_id: number }) => args.order_id)
    const inventory = defineJob('CheckInventoryJob', () => 1)
    const graph = buildGraph(w => {
      w.node('validate', { job: validate, args: { order_id: 123 } })
      w.node('check_inventory', { job: inventory, args: {} })
    })
    const [first, second] = [idOf(graph, 'validate'), idOf(graph, 'check_inventory')]
    expect(JSON.parse(JSON.stringify(graph.freeze(frozenAt)))).toEqual({
      version: 1,
      signature: graph.signature,
      frozen_at: frozenAt,
      nodes: {
        [first]: { name: 'validate', job: 'ValidateOrderJob', args: { order_id: 123 }, depends_on: [] },
        [second]: { name: 'check_inventory', job: 'CheckInventoryJob', args: {}, depends_on: [first] },
      },
    })
    expect(Object.keys(nodeNamed(graph, 'validate'))).toEqual(['name', 'job', 'args', 'depends_on'])
  })

  it('is what a built graph becomes as JSON, but for the time', () => {
    const graph = buildGraph(w => void w.node('a', { job: sweep }))
    expect({ ...JSON.parse(JSON.stringify(graph)), frozen_at: frozenAt }).toEqual(graph.freeze(frozenAt))
    expect(JSON.parse(JSON.stringify(graph))).not.toHaveProperty('frozen_at')
  })

  it('is written out as JSON in the same words, whoever does it', () => {
    const graph = buildGraph(w => void w.node('a "quoted" \u{1f600}', { job: sweep }))
    expect(graph.freezeToText(frozenAt)).toBe(JSON.stringify(graph.freeze(frozenAt)))
    const expanded = graph.expandedFrom({ name: 'one', args: { a: [1] } }, graph.bytes)
    expect(expanded.freezeToText(frozenAt)).toBe(JSON.stringify(expanded.freeze(frozenAt)))
    expect(buildGraph(() => {}).freezeToText(frozenAt)).toContain('"nodes":{}}')
  })

  it('of nothing is a graph as well', () => {
    const graph = parseFrozenGraph(exported(() => {}))
    expect(graphOfFrozen(graph, defaults).size).toBe(0)
  })
})

describe('the graph to decide by', () => {
  it('takes from the node first, then from the job, then from its surroundings', () => {
    const built = buildGraph(w => {
      w.node('own', {
        job: total,
        args: { of: [] },
        queue: 'own',
        priority: 1,
        wait: '1s',
        metadata: { at: new Date(5) },
      })
      w.node('of the job', { job: total, args: { of: [] } })
      w.node('of neither', { job: sweep })
    })
    const graph = graphOfFrozen(built, { ...defaults, queue: 'outside', priority: 3 })
    const seen = graph.nodes.map(({ name, job, queue, priority, waitMs }) => [name, job, queue, priority, waitMs])
    expect(seen).toEqual([
      ['own', 'total', 'own', 1, 1_000],
      ['of the job', 'total', 'sums', 7, 0],
      ['of neither', 'sweep', 'outside', 3, 0],
    ])
    expect(graph.data).toMatchObject({ type: null, queue: 'outside', priority: 3 })
    expect(graph.nodes[0]?.metadata).toEqual({ at: new Date(5) })
    expect(graph.nodes[1]).not.toHaveProperty('metadata')
    expect(graph.isChain).toBe(true)
  })
})

/** A graph from numbers: each node depends on some before it, and refers to the output of the first of them. */
interface Plan {
  readonly name: string
  readonly parents: readonly number[]
  readonly refers: boolean
  readonly settings: Omit<NodeSettings, 'dependsOn'>
}

const settings: fc.Arbitrary<Plan['settings']> = fc.record(
  {
    wait: fc.constantFrom('5s' as const, { hours: 1 }, 1),
    queue: fc.constantFrom('a', 'b'),
    priority: fc.integer({ min: 0, max: 100 }),
    retry: fc.constantFrom(2, { attempts: 5, delay: '1s' as const }),
    onException: fc.constantFrom('skip' as const, { policy: 'reattempt' as const, limit: 2 }),
    metadata: fc.dictionary(fc.string(), fc.jsonValue()),
  },
  { requiredKeys: [] },
)

const plans: fc.Arbitrary<Plan[]> = fc
  .uniqueArray(
    fc.string({ minLength: 1 }).filter(name => !/[#/\0]/.test(name)),
    { maxLength: 15 },
  )
  .chain(names =>
    fc.tuple(
      ...names.map((name, index) =>
        fc.record({
          name: fc.constant(name),
          parents: fc.uniqueArray(fc.nat(Math.max(0, index - 1)), { maxLength: index }),
          refers: fc.boolean(),
          settings,
        }),
      ),
    ),
  )

const described = (plan: readonly Plan[]) => (w: GraphBuilder) => {
  const nodes: ReturnType<GraphBuilder['node']>[] = []
  for (const { name, parents, refers, settings } of plan) {
    const dependsOn = parents.flatMap(index => nodes[index] ?? [])
    const value = refers ? dependsOn[0]?.output : { $geneva: 'output', value: name }
    nodes.push(w.node(name, { job: keep, args: { value }, dependsOn, ...settings }))
  }
}

describe('freezing and reading back', () => {
  it('gives the same document and the same graph, for any graph', () => {
    fc.assert(
      fc.property(plans, plan => {
        const frozen = buildGraph(described(plan)).freeze(frozenAt)
        const parsed = parseFrozenGraph(JSON.stringify(frozen), { knowsJob: job => job === 'keep' })
        expect(parsed).toEqual(frozen)
        expect(JSON.stringify(parsed)).toBe(JSON.stringify(frozen))
        expect(graphOfFrozen(parsed, defaults).data).toEqual(graphOfFrozen(frozen, defaults).data)
        expect(parseFrozenGraph(frozen)).toEqual(frozen)
      }),
    )
  })

  it('gives the same graph of a class', () => {
    const node = (name: string, dependsOn: string[], more: Partial<GraphNode> = {}): GraphNode => {
      return { id: name, name, kind: 'step', waitMs: 0, queue: 'default', priority: 0, dependsOn, ...more }
    }
    const graph = new Graph({
      type: 'OrderWorkflow',
      queue: 'orders',
      priority: 2,
      renamed: { pay: 'charge' },
      stopGraceMs: 0,
      deadlineMs: 86_400_000,
      onDeadline: 'pause',
      nodes: [
        node('charge', [], { waitMs: 5_000, queue: 'payments', priority: 9 }),
        node('parcels', ['charge'], { kind: 'each', concurrency: 4, metadata: { since: new Date(1) } }),
        node('invoice', ['charge'], { kind: 'child' }),
        node('notify', ['parcels', 'invoice'], { kind: 'resumable' }),
      ],
    })
    const frozen = freezeClassGraph(graph, frozenAt)
    expect(frozen).toMatchObject({ version: 1, frozen_at: frozenAt })
    expect(frozen.nodes.charge).toMatchObject({ name: 'charge', method: 'charge', wait_ms: 5_000 })
    expect(frozen.nodes.parcels).toMatchObject({
      method: 'parcels',
      kind: 'each',
      concurrency: 4,
      depends_on: ['charge'],
    })
    const other = { ...defaults, type: 'OrderWorkflow', queue: 'orders', priority: 2 }
    expect(graphOfFrozen(parseFrozenGraph(JSON.stringify(frozen)), other).data).toEqual(graph.data)
  })
})

describe('a signature', () => {
  const signatureOf = (describe: (w: GraphBuilder) => void) => buildGraph(describe).signature
  const diamond = (w: GraphBuilder) => {
    const a = w.node('a', { job: sweep })
    const b = w.node('b', { job: sweep })
    const c = w.node('c', { job: sweep, dependsOn: a })
    w.node('d', { job: add, args: { a: 1 }, dependsOn: [b, c] })
  }
  const signature = signatureOf(diamond)

  it('is a hash over names, edges and jobs, the same in every process', () => {
    const lines = ['"a" [] "sweep"', '"b" ["a"] "sweep"', '"c" ["a"] "sweep"', '"d" ["b","c"] "add"']
    const text = lines.map(line => `${line}\n`).join('')
    expect(signature).toBe(createHash('sha256').update(text).digest('hex'))
  })

  it.each<[string, (w: GraphBuilder) => void]>([
    ['each time it is built', diamond],
    [
      'in another order, with other arguments and options',
      w => {
        w.node('d', { job: add, args: { a: 2 }, dependsOn: ['c', 'b'], queue: 'other', wait: '1s' })
        w.node('c', { job: sweep, dependsOn: 'a' })
        w.node('b', { job: sweep, dependsOn: 'a' })
        w.node('a', { job: sweep, dependsOn: null })
      },
    ],
  ])('is equal for the same structure %s', (_what, describe) => {
    expect(signatureOf(describe)).toBe(signature)
  })

  it.each<[string, (w: GraphBuilder) => void]>([
    ['a node more', w => [diamond(w), w.node('e', { job: sweep })]],
    [
      'an edge less',
      w => {
        w.fanOut(['a', 'c'], { name: item => item, job: sweep, dependsOn: null })
        w.node('b', { job: sweep, dependsOn: 'a' })
        w.node('d', { job: add, args: { a: 1 }, dependsOn: ['b', 'c'] })
      },
    ],
    [
      'another job',
      w => {
        w.node('a', { job: sweep })
        w.fanOut(['b', 'c'], { name: item => item, job: sweep })
        w.node('d', { job: sweep })
      },
    ],
  ])('differs by %s', (_what, describe) => {
    expect(signatureOf(describe)).not.toBe(signature)
  })

  it('is computed anew when a graph was edited, whatever the document says', () => {
    const graph = JSON.parse(exported(diamond))
    expect(parseFrozenGraph({ ...graph, signature: 'stale' }).signature).toBe(signature)
    expect(parseFrozenGraph({ ...graph, signature: undefined }).signature).toBe(signature)
    expect(thrownBy(() => parseFrozenGraph({ ...graph, signature: 5 })).message).toContain('Leave it out')
  })
})
