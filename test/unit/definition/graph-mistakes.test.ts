/** Every mistake in a graph that is described at run time, each found when it is built and named. */
import { describe, expect, it } from 'vitest'
import { buildGraph } from '../../../src/definition/build-graph.ts'
import type { GraphBuilder } from '../../../src/definition/graph-builder.ts'
import { defineJob } from '../../../src/definition/job.ts'
import type { FanOut, NodeHandle } from '../../../src/definition/node-handle.ts'
import { add, keep, sweep, thrownBy } from './sample-graphs.ts'

/** The builder as plain JavaScript sees it. */
type Untyped = Record<'node' | 'fanOut', (...given: unknown[]) => any>

function messageOf(describe: (w: Untyped) => unknown): string {
  const error = thrownBy(() => buildGraph(w => void describe(w as unknown as Untyped)))
  expect(error.code).toBe('INVALID_GRAPH')
  return error.message
}

describe('a name', () => {
  it.each([
    ['empty', '', 'is empty'],
    ['no text', 5, 'is a number'],
    ['left out', undefined, 'is a undefined'],
    ['too long', 'x'.repeat(192), 'longer than 191'],
    ['with #', 'a#1', 'contains # or /'],
    ['with /', 'a/1', 'contains # or /'],
    ['with NUL', 'a\0', 'NUL'],
    ['with half a surrogate pair', 'a\ud83d', 'surrogate'],
  ])('that is %s is refused', (_what, name, message) => {
    expect(messageOf(w => w.node(name, { job: sweep }))).toContain(message)
    expect(messageOf(w => w.fanOut([1], { name: () => name, job: sweep }))).toContain(message)
  })

  it('is given once, also by a fan-out', () => {
    const twice = 'named "twice" already'
    expect(messageOf(w => [w.node('twice', { job: sweep }), w.node('twice', { job: sweep })])).toContain(twice)
    expect(messageOf(w => w.fanOut([1, 2], { name: () => 'twice', job: sweep }))).toContain(twice)
  })
})

describe('a dependency', () => {
  it('on a name that no node has is refused', () => {
    const message = messageOf(w => w.node('a', { job: sweep, dependsOn: ['missing'] }))
    expect(message).toBe('Node "a" depends on "missing", but the graph has no node of that name.')
  })

  it('of a node on itself is refused, also through a fan-out and one over nothing', () => {
    const itself = 'Node "a" (n_'
    expect(messageOf(w => w.node('a', { job: sweep, dependsOn: 'a' }))).toContain(itself)
    expect(messageOf(w => w.fanOut(['b', 'a'], { name: (x: string) => x, job: sweep, dependsOn: 'a' }))).toContain(
      itself,
    )
    const throughNothing = messageOf(w => {
      const empty = w.fanOut([], { name: () => '', job: sweep, dependsOn: 'a' })
      w.node('a', { job: sweep, dependsOn: empty })
    })
    expect(throughNothing).toContain(itself)
    expect(throughNothing).toContain('depends on itself')
  })

  it('that closes a circle is refused, with the way around', () => {
    const message = messageOf(w => {
      w.node('before', { job: sweep })
      w.node('a', { job: sweep, dependsOn: ['before', 'c'] })
      w.node('b', { job: sweep, dependsOn: 'a' })
      w.node('c', { job: sweep, dependsOn: 'b' })
      w.node('after', { job: sweep })
    })
    expect(message).toMatch(/"a" → "b" → "c" → "a"|"b" → "c" → "a" → "b"|"c" → "a" → "b" → "c"/)
    expect(message).not.toContain('before"')
    expect(message).not.toContain('after"')
  })

  it('that closes a long circle is shown in short', () => {
    const message = messageOf(w => {
      for (let index = 0; index < 500; index++) w.node(`${index}`, { job: sweep, dependsOn: `${(index + 499) % 500}` })
    })
    expect(message).toContain('489 more → ')
    expect(message.length).toBeLessThan(300)
  })

  it('on a node or fan-out of another graph is refused', () => {
    let handle: unknown
    let fanOut: unknown
    let empty: unknown
    buildGraph(w => {
      handle = w.node('a', { job: sweep })
      fanOut = w.fanOut(['b'], { name: item => item, job: sweep })
      empty = w.fanOut([], { name: () => '', job: sweep })
    })
    expect(messageOf(w => w.node('x', { job: sweep, dependsOn: handle }))).toContain('of this graph')
    expect(messageOf(w => w.node('x', { job: sweep, dependsOn: fanOut }))).toContain('another graph')
    expect(messageOf(w => w.node('x', { job: sweep, dependsOn: [empty] }))).toContain('another graph')
  })

  it.each([5, true, { id: 'n_1', name: 'a' }, [undefined], [null], [['a']]])('like %j is refused', dependsOn => {
    expect(messageOf(w => [w.node('a', { job: sweep }), w.node('x', { job: sweep, dependsOn })])).toMatch(
      /"x": `dependsOn` takes names/,
    )
  })
})

describe('a reference to an output', () => {
  it('of a node that does not come before is refused, naming both', () => {
    const message = messageOf(w => {
      const side = w.node('side', { job: sweep, dependsOn: null })
      w.node('other', { job: sweep, dependsOn: null })
      w.node('reader', { job: keep, args: { value: [{ deep: side.output }] } })
    })
    expect(message).toContain('Node "reader" refers to the output of "side"')
    expect(message).toContain('depend on it')
  })

  it('of one node of a fan-out that does not come before is refused', () => {
    const message = messageOf(w => {
      const parts = w.fanOut(['a', 'b', 'c'], { name: (item: string) => item, job: sweep })
      w.node('reader', { job: keep, args: { value: parts.outputs }, dependsOn: parts.slice(0, 2) })
    })
    expect(message).toContain('output of "c"')
  })

  it('of a node of another graph is refused', () => {
    const found: NodeHandle[] = []
    buildGraph(w => void found.push(w.node('a', { job: sweep })))
    expect(messageOf(w => w.node('x', { job: keep, args: { value: found[0]?.output } }))).toContain('no such node')
  })

  it('is not the handle of the node itself', () => {
    const message = messageOf(w => {
      const first = w.node('first', { job: sweep })
      w.node('x', { job: keep, args: { value: first } })
    })
    expect(message).toContain('an instance of NodeHandle at $.value')
  })

  it('of a node further up is allowed', () => {
    const graph = buildGraph(w => {
      const first = w.node('first', { job: sweep })
      w.node('second', { job: sweep })
      w.node('third', { job: keep, args: { value: first.output } })
    })
    expect(graph.size).toBe(3)
  })
})

describe('an option', () => {
  it.each<[string, Record<string, unknown>, string]>([
    ['that does not exist', { dependOn: 'a' }, 'no option dependOn'],
    ['job that is left out', { job: undefined }, 'not what defineJob returned'],
    ['job that is a name', { job: 'sweep' }, 'not what defineJob returned'],
    ['job that is a function', { job: () => 1 }, 'not what defineJob returned'],
    ['args that is no object', { args: 5 }, 'args must be an object'],
    ['args that is a list', { args: [1] }, 'args must be an object'],
    ['args that is nothing', { args: null }, 'args must be an object'],
    ['args that cannot be stored', { args: { list: [() => 1] } }, 'a function at $.list[0]'],
    ['wait that is no duration', { wait: '2 fortnights' }, 'the wait'],
    ['queue that is no name', { queue: '' }, 'queue name is empty'],
    ['priority out of range', { priority: -1 }, 'from 0 to 100'],
    ['retry that is none', { retry: 'often' }, 'retry is a number'],
    ['retry without attempts', { retry: 0 }, 'at least 1'],
    ['retry with an unknown option', { retry: { atempts: 3 } }, 'no option atempts'],
    ['retry with a function', { retry: { backoff: () => 1 } }, 'functions cannot be'],
    ['retry with a condition', { retry: { retryIf: () => true } }, 'functions cannot be'],
    ['retry with an unknown backoff', { retry: { backoff: 'cubic' } }, 'the backoff'],
    ['retry with a wrong jitter', { retry: { jitter: 1 } }, 'the jitter'],
    ['retry with a wrong delay', { retry: { delay: -1 } }, 'the delay'],
    ['onException that is a function', { onException: () => 'skip' }, 'its onException is stored'],
    ['onException with error classes', { onException: [[Error, 'skip']] }, 'its onException is stored'],
    ['onException that does not exist', { onException: 'explode' }, '"explode"'],
    ['metadata that is no object', { metadata: 'x' }, 'metadata must be an object'],
    ['metadata that is a map', { metadata: new Map() }, 'metadata must be an object'],
    ['metadata that cannot be stored', { metadata: { at: Symbol('x') } }, 'a symbol at $.at'],
  ])('%s is refused', (_what, options, message) => {
    expect(messageOf(w => w.node('the node', { job: sweep, ...options }))).toMatch(/^Node "the node"/)
    expect(messageOf(w => w.node('the node', { job: sweep, ...options }))).toContain(message)
  })

  it('must stand in an object', () => {
    expect(messageOf(w => w.node('a'))).toContain('must be an object with a `job`')
    expect(messageOf(w => w.fanOut([1]))).toContain('must be an object with a `job`')
  })

  it('job must be the same wherever a graph has its name', () => {
    const other = defineJob('sweep', () => 2)
    expect(messageOf(w => [w.node('a', { job: sweep }), w.node('b', { job: other })])).toContain(
      'two jobs named "sweep"',
    )
  })

  it('of a fan-out must be functions of an item, and its items a list', () => {
    const where = 'The fan-out to job "add"'
    expect(messageOf(w => w.fanOut([1], { name: 'x', job: add }))).toContain(`${where}: \`name\` and \`args\``)
    expect(messageOf(w => w.fanOut([1], { name: () => 'x', job: add, args: { a: 1 } }))).toContain('are functions')
    expect(messageOf(w => w.fanOut({ length: 1 }, { name: () => 'x', job: add }))).toContain('must be a list')
    expect(messageOf(w => w.fanOut([1], { name: () => 'x', args: () => ({}) }))).toContain(
      'not what defineJob returned',
    )
  })
})

describe('the function that describes', () => {
  it('must not take its time', () => {
    const describe = async (w: GraphBuilder) => {
      await null
      w.node('late', { job: sweep })
    }
    expect(thrownBy(() => buildGraph(describe)).message).toContain('returned a promise')
  })

  it('cannot add to a graph that has been built', () => {
    const builders: GraphBuilder[] = []
    const graph = buildGraph(w => void builders.push(w))
    expect(thrownBy(() => builders[0]?.node('late', { job: sweep })).message).toContain('takes no more nodes')
    expect(thrownBy(() => builders[0]?.fanOut([], { name: String, job: sweep })).message).toContain('no more nodes')
    expect(graph.size).toBe(0)
  })

  it('has its own errors come through, and may go on after a mistake', () => {
    expect(() =>
      buildGraph(() => {
        throw new RangeError('mine')
      }),
    ).toThrow(new RangeError('mine'))
    const graph = buildGraph(w => {
      w.node('a', { job: sweep })
      thrownBy(() => w.node('a', { job: sweep }))
      w.node('b', { job: sweep })
    })
    expect(graph.size).toBe(2)
  })

  it('cannot change what it was given', () => {
    const fanOuts: FanOut[] = []
    buildGraph(w => void fanOuts.push(w.fanOut([1], { name: String, job: sweep })))
    expect(() => (fanOuts[0] as unknown as unknown[]).push('x')).toThrow(TypeError)
  })
})
