/** Describing a graph at run time: what depends on what, what is stored, and how large it may get. */
import { describe, expect, it } from 'vitest'
import { buildGraph } from '../../../src/definition/build-graph.ts'
import type { GraphBuilder } from '../../../src/definition/graph-builder.ts'
import { defaultGraphLimits } from '../../../src/definition/graph-limits.ts'
import { defineJob } from '../../../src/definition/job.ts'
import { add, edgesOf, idOf, nodeNamed, sweep, thrownBy, total } from './sample-graphs.ts'

const edges = (describe: (w: GraphBuilder) => void) => edgesOf(buildGraph(describe))

describe('the worked examples', () => {
  it('many mutations at once, then their sum, then a message', () => {
    const processMutation = defineJob('ProcessMutationJob', async (args: { mutationId: number }) => args.mutationId)
    const aggregate = defineJob('AggregateMutationsJob', async (args: { userId: number }) => args.userId)
    const notify = defineJob('NotifyUserJob', async (args: { userId: number }) => args.userId)
    const pending = Array.from({ length: 200 }, (_, index) => index + 1)
    const graph = buildGraph(w => {
      const mutations = pending.map(id =>
        w.node(`mutation_${id}`, { job: processMutation, args: { mutationId: id }, dependsOn: null }),
      )
      w.node('aggregate', { job: aggregate, args: { userId: 9 }, dependsOn: mutations })
      w.node('notify', { job: notify, args: { userId: 9 } })
    })
    expect(edgesOf(graph)).toEqual({
      ...Object.fromEntries(pending.map(id => [`mutation_${id}`, []])),
      aggregate: pending.map(id => `mutation_${id}`),
      notify: ['aggregate'],
    })
    expect(nodeNamed(graph, 'mutation_17')).toEqual({
      name: 'mutation_17',
      job: 'ProcessMutationJob',
      args: { mutationId: 17 },
      depends_on: [],
    })
    expect([...graph.jobs.values()]).toEqual([processMutation, aggregate, notify])
  })

  it('a start, a check, a fan-out by name, a fan-in by name, an end', () => {
    const items = [{ id: 'x' }, { id: 'y' }]
    expect(
      edges(w => {
        w.node('start', { job: sweep, dependsOn: null })
        w.node('validate', { job: sweep })
        for (const item of items) w.node(`process_${item.id}`, { job: sweep, dependsOn: 'validate' })
        w.node('aggregate', { job: sweep, dependsOn: items.map(item => `process_${item.id}`) })
        w.node('notify', { job: sweep })
      }),
    ).toEqual({
      start: [],
      validate: ['start'],
      process_x: ['validate'],
      process_y: ['validate'],
      aggregate: ['process_x', 'process_y'],
      notify: ['aggregate'],
    })
  })
})

describe('dependencies', () => {
  it('are the node before, none, one or several', () => {
    expect(
      edges(w => {
        const a = w.node('a', { job: sweep })
        w.node('b', { job: sweep })
        w.node('c', { job: sweep, dependsOn: null })
        w.node('d', { job: sweep, dependsOn: a })
        w.node('e', { job: sweep, dependsOn: ['c', 'd'] })
        w.node('f', { job: sweep, dependsOn: [] })
      }),
    ).toEqual({ a: [], b: ['a'], c: [], d: ['a'], e: ['c', 'd'], f: [] })
  })

  it('may be names of nodes that come later', () => {
    expect(
      edges(w => {
        w.node('last', { job: sweep, dependsOn: ['middle', 'first'] })
        w.node('middle', { job: sweep, dependsOn: 'first' })
        w.node('first', { job: sweep, dependsOn: null })
      }),
    ).toEqual({ last: ['middle', 'first'], middle: ['first'], first: [] })
  })

  it('count once, however often and in whatever form they are given', () => {
    expect(
      edges(w => {
        const a = w.node('a', { job: sweep })
        const both = w.fanOut(['b', 'c'], { name: item => item, job: sweep })
        w.node('d', { job: sweep, dependsOn: ['a', a, a, both, 'c', both] })
      }).d,
    ).toEqual(['a', 'b', 'c'])
  })
})

describe('a fan-out', () => {
  it('shares its dependencies, and what comes next follows all of it', () => {
    expect(
      edges(w => {
        w.node('start', { job: sweep })
        w.fanOut([1, 2], { name: (item, index) => `${index}:${item}`, job: add, args: item => ({ a: item }) })
        w.fanOut(new Set([3]), { name: item => `three ${item}`, job: sweep })
        w.node('end', { job: sweep })
      }),
    ).toEqual({ start: [], '0:1': ['start'], '1:2': ['start'], 'three 3': ['0:1', '1:2'], end: ['three 3'] })
  })

  it('is a list of its nodes, with arguments and options of their own', () => {
    const graph = buildGraph(w => {
      const nodes = w.fanOut([5, 6], {
        name: item => `add ${item}`,
        job: add,
        args: (item, index) => ({ a: item, b: index }),
        queue: 'sums',
        dependsOn: null,
      })
      expect(nodes.map(node => node.name)).toEqual(['add 5', 'add 6'])
      w.node('last only', { job: sweep, dependsOn: nodes.slice(1) })
    })
    expect(nodeNamed(graph, 'add 6')).toMatchObject({ args: { a: 6, b: 1 }, queue: 'sums' })
    expect(edgesOf(graph)['last only']).toEqual(['add 6'])
  })

  const none = { name: () => 'never', job: sweep }
  it.each<[string, (w: GraphBuilder) => void, string[]]>([
    ['what came before it', w => void w.fanOut([], none), ['before']],
    ['what it depended on', w => void w.fanOut([], { ...none, dependsOn: ['other'] }), ['other']],
    ['nothing', w => void w.fanOut([], { ...none, dependsOn: null }), []],
    ['a node that comes later', w => void w.fanOut([], { ...none, dependsOn: 'later' }), ['later']],
    ['what an empty one before it stood for', w => [w.fanOut([], none), w.fanOut([], none)], ['before']],
  ])('over nothing stands for %s', (_what, describe, expected) => {
    const result = edges(w => {
      w.node('other', { job: sweep })
      w.node('before', { job: sweep, dependsOn: null })
      describe(w)
      w.node('after', { job: sweep })
      w.node('later', { job: sweep, dependsOn: null })
    })
    expect(result.after).toEqual(expected)
  })

  it('over nothing can be depended on by name of its value, beside other nodes', () => {
    expect(
      edges(w => {
        const empty = w.fanOut([], { ...none, dependsOn: 'later' })
        const later = w.node('later', { job: sweep, dependsOn: null })
        w.node('after', { job: sweep, dependsOn: [empty, later, 'first'] })
        w.node('first', { job: sweep, dependsOn: null })
      }).after,
    ).toEqual(['later', 'first'])
  })

  it('over nothing at the very beginning leaves an entry point behind it', () => {
    expect(
      edges(w => {
        const empty = w.fanOut([], none)
        w.node('total', { job: total, args: { of: [] }, dependsOn: empty })
      }),
    ).toEqual({ total: [] })
  })
})

describe('what is stored of a node', () => {
  it('has an id with 64 random bits that no other graph has, and rising in the order in which nodes are added', () => {
    const build = () =>
      buildGraph(w => {
        w.node('first', { job: sweep })
        w.fanOut(Array(2_000).keys(), { name: index => `node ${index}`, job: sweep })
        w.fork('both', {
          left: b => void b.node('one', { job: sweep }),
          right: b => void b.node('two', { job: sweep }),
        })
        w.node('last', { job: sweep })
      })
    const graphs = [build(), build()].map(graph => Object.keys(graph.nodes))
    // A join is named after its fork.
    const own = graphs.map(ids => ids.filter(id => !id.includes('#')))
    for (const ids of own) expect(ids.toSorted()).toEqual(ids)
    const made = own.flat()
    expect(made.every(id => /^n_[0-9a-f]{16}[0-9a-z]{4}$/.test(id))).toBe(true)
    expect(new Set(graphs.flat()).size).toBe(graphs.flat().length)
    expect(new Set(made.map(id => id.slice(0, 18))).size).toBe(2)
  })

  it('holds its options in plain data, durations in milliseconds', () => {
    const graph = buildGraph(w => {
      w.node('full', {
        job: add,
        args: { a: 1 },
        wait: '2 minutes',
        queue: 'imports',
        priority: 9,
        retry: { attempts: 4, backoff: 'linear', delay: '5s', maxDelay: { minutes: 1 }, jitter: false },
        onException: { policy: 'reattempt', wait: '1 min', limit: 3, then: 'cancel' },
        metadata: { owner: 'data', since: new Date(0) },
      })
      w.node('short', { job: sweep, retry: 3, onException: { policy: 'skip' }, wait: 0 })
    })
    expect(nodeNamed(graph, 'full')).toMatchObject({
      wait_ms: 120_000,
      queue: 'imports',
      priority: 9,
      retry: { attempts: 4, backoff: 'linear', delay: 5_000, maxDelay: 60_000, jitter: false },
      on_exception: { policy: 'reattempt', wait: 60_000, limit: 3, then: 'cancel' },
      metadata: { owner: 'data', since: { $geneva: 'date', value: '1970-01-01T00:00:00.000Z' } },
    })
    const short = nodeNamed(graph, 'short')
    expect(short).toMatchObject({ name: 'short', job: 'sweep', on_exception: 'skip', retry: { attempts: 3 } })
    expect(Object.keys(short)).not.toContain('wait_ms')
    expect(Object.keys(short)).not.toContain('args')
  })

  it('may have any text as its name', () => {
    const names = ['step_1', 'n_1', 'with space', 'ünï🚀', '__proto__', 'constructor', '0', 'then', 'x'.repeat(191)]
    const graph = buildGraph(w => {
      for (const name of names) w.node(name, { job: sweep })
    })
    expect(Object.values(graph.nodes).map(node => node.name)).toEqual(names)
  })

  it('refers to the output of a node by its id', () => {
    const graph = buildGraph(w => {
      const parts = w.fanOut([1, 2], { name: item => `part ${item}`, job: add, args: item => ({ a: item }) })
      const sum = w.node('sum', { job: total, args: { of: parts.outputs } })
      w.node('more', { job: total, args: { of: [1, ...parts.map(part => part.output)] }, dependsOn: sum })
    })
    const [first, second] = [idOf(graph, 'part 1'), idOf(graph, 'part 2')]
    expect(nodeNamed(graph, 'sum').args).toEqual({ of: { $geneva: 'outputs', value: [first, second] } })
    expect(nodeNamed(graph, 'more').args).toEqual({
      of: [1, { $geneva: 'output', value: first }, { $geneva: 'output', value: second }],
    })
  })
})

describe('arguments with a schema', () => {
  const job = defineJob('typed', { args: schema(value => typeof value.id === 'number') }, () => 1)

  it('are looked at when the graph is built', () => {
    const error = thrownBy(() => buildGraph(w => void w.node('typed node', { job, args: { id: 'five' } })))
    expect(error).toMatchObject({ code: 'INVALID_GRAPH' })
    expect(error.message).toMatch(/"typed node".*job typed.*id: not right/)
  })

  it('wait for the node to run where they refer to outputs, or where the schema takes its time', () => {
    const slow = defineJob('slow', { args: schema(async () => Promise.reject(new Error('down'))) }, () => 1)
    const graph = buildGraph(w => {
      const first = w.node('first', { job: sweep })
      w.node('typed', { job, args: { id: first.output } })
      w.node('slow', { job: slow, args: { id: 1 } })
    })
    expect(graph.size).toBe(3)
  })

  function schema(isRight: (value: { id: unknown }) => unknown) {
    const answer = (right: unknown, value: unknown) =>
      right ? { value: value as { id: unknown } } : { issues: [{ message: 'not right', path: ['id'] }] }
    const validate = (value: unknown) => {
      const right = isRight(value as { id: unknown })
      return right instanceof Promise ? right.then(right => answer(right, value)) : answer(right, value)
    }
    return { '~standard': { version: 1 as const, vendor: 'test', validate } }
  }
})

describe('size', () => {
  it('100,000 nodes are built within seconds', () => {
    const before = process.cpuUsage()
    const graph = buildGraph(w => {
      const parts = w.fanOut(Array(99_998).keys(), {
        name: item => `part_${item}`,
        job: add,
        args: item => ({ a: item }),
      })
      w.node('sum', { job: total, args: { of: parts.outputs } })
      w.node('after', { job: total, args: { of: parts.outputs } })
    })
    const { user, system } = process.cpuUsage(before)
    expect(graph.size).toBe(100_000)
    expect((user + system) / 1_000).toBeLessThan(5_000)
  })

  it('is limited in nodes', () => {
    const limits = { ...defaultGraphLimits, nodes: 3 }
    const nodes = (count: number) =>
      buildGraph(w => void w.fanOut(Array(count).keys(), { name: index => `${index}`, job: sweep }), limits)
    expect(nodes(3).size).toBe(3)
    expect(thrownBy(() => nodes(4))).toMatchObject({ code: 'GRAPH_TOO_LARGE', limit: 'nodes' })
    expect(thrownBy(() => nodes(4)).message).toContain('grown to 4 nodes, the limit is 3')
  })

  it('is limited in nodes even where the items have no end', () => {
    function* forever() {
      for (let item = 0; ; item++) yield item
    }
    const limits = { ...defaultGraphLimits, nodes: 100 }
    const error = thrownBy(() => buildGraph(w => void w.fanOut(forever(), { name: String, job: sweep }), limits))
    expect(error).toMatchObject({ code: 'GRAPH_TOO_LARGE' })
  })

  it('is limited in edges', () => {
    const twoByTwo = (edges: number) =>
      buildGraph(
        w => {
          w.fanOut(['a', 'b'], { name: item => item, job: sweep })
          w.fanOut(['c', 'd'], { name: item => item, job: sweep })
        },
        { ...defaultGraphLimits, edges },
      )
    expect(twoByTwo(4).size).toBe(4)
    expect(thrownBy(() => twoByTwo(3))).toMatchObject({ code: 'GRAPH_TOO_LARGE', limit: 'edges' })
  })

  it.each<[string, (w: GraphBuilder) => void]>([
    ['one large argument', w => w.node('a', { job: total, args: { of: Array(1_000).fill(1_000) } })],
    ['many small ones', w => w.fanOut(Array(200).keys(), { name: String, job: add, args: a => ({ a }) })],
    ['names', w => w.fanOut(Array(20).keys(), { name: index => `${index}`.padEnd(150, 'é'), job: sweep })],
    ['metadata', w => w.node('a', { job: sweep, metadata: { text: 'x'.repeat(3_000) } })],
  ])('is limited in bytes: %s', (_what, describe) => {
    const limits = { ...defaultGraphLimits, bytes: 2_000 }
    expect(thrownBy(() => buildGraph(describe, limits))).toMatchObject({ code: 'GRAPH_TOO_LARGE', limit: 'bytes' })
    expect(buildGraph(describe).bytes).toBeGreaterThan(2_000)
  })

  it('of a graph is that of its JSON', () => {
    const graph = buildGraph(w => void w.node('ünï', { job: add, args: { a: 1 } }))
    expect(graph.bytes).toBe(Buffer.byteLength(JSON.stringify(graph.nodes)))
  })
})
