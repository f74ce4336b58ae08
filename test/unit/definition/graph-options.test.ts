/** What nodes of a graph say about when and for how long they run: how it is stored, checked and told apart. */
import { describe, expect, it } from 'vitest'
import { buildGraph } from '../../../src/definition/build-graph.ts'
import type { GraphBuilder } from '../../../src/definition/graph-builder.ts'
import { defineJob } from '../../../src/definition/job.ts'
import { parseFrozenGraph } from '../../../src/definition/parse-frozen-graph.ts'
import { Workflow } from '../../../src/definition/workflow.ts'
import { add, edgesOf, edited, exported, nodeNamed, sweep, thrownBy } from './sample-graphs.ts'

const refused = (describe: (w: GraphBuilder) => unknown) => {
  const error = thrownBy(() => buildGraph(w => void describe(w)))
  expect(error.code).toBe('INVALID_GRAPH')
  return error.message as string
}

describe('a node that is described', () => {
  it('is stored with its timeout in milliseconds and its expression as it was written', () => {
    const graph = buildGraph(w => {
      w.node('first', { job: sweep, timeout: '30s', if: 'input.go' })
      w.human('ask', { skipIf: '{{ .isKnown }}' })
    })
    expect(nodeNamed(graph, 'first')).toEqual({
      name: 'first',
      job: 'sweep',
      depends_on: [],
      timeout_ms: 30_000,
      if: 'input.go',
    })
    expect(nodeNamed(graph, 'ask')).toMatchObject({ kind: 'human', skip_if: '{{ .isKnown }}' })
  })

  it.each<[string, (w: any) => unknown, RegExp | string]>([
    ['both expressions', w => w.node('a', { job: sweep, if: 'true', skipIf: 'false' }), /^Node "a": it has both `if`/],
    ['a function', w => w.node('a', { job: sweep, if: () => true }), /^Node "a", if: it is stored, so it must be/],
    ['a boolean', w => w.node('a', { job: sweep, skipIf: true }), /^Node "a", skipIf: it is stored/],
    ['an empty text', w => w.node('a', { job: sweep, if: ' ' }), /^Node "a", if: A condition is a text/],
    ['a text that is no expression', w => w.node('a', { job: sweep, if: 'input.a >' }), 'Node "a", if: The condition'],
    ['a text that comes to a number', w => w.node('a', { job: sweep, if: '1 + 1' }), 'not to true or false'],
    [
      'an output of a node that is not there',
      w => w.node('a', { job: sweep, if: 'outputs.b' }),
      'Node "a" asks for the output of "b", but the graph has no node of that name.',
    ],
    [
      'an output of a node that does not come before',
      w => [w.node('a', { job: sweep, skipIf: 'outputs.b == 1' }), w.node('b', { job: sweep })],
      'Node "a" refers to the output of "b", but it does not come after that node.',
    ],
    ['its own output', w => w.node('a', { job: sweep, if: 'outputs.a' }), 'does not come after that node'],
    ['a timeout of 0', w => w.node('a', { job: sweep, timeout: 0 }), 'a timeout of 0 leaves no time'],
    ['a timeout that is none', w => w.fanOut([1], { name: () => 'a', job: sweep, timeout: 'soon' }), 'the timeout'],
    ['a human with a timeout', w => w.human('a', { timeout: '1s' }), 'no option timeout'],
    ['a condition with an if', w => w.condition('a', 'true', { then: () => {}, if: 'true' }), 'no option if'],
    ['a fork with an if', w => w.fork('a', {}, { if: 'true' }), 'no option if'],
    ['a join that also depends', w => w.join('a', { dependsOn: 'b', alsoDependsOn: 'c' }), 'no option alsoDependsOn'],
    ['a number to depend on', w => w.node('a', { job: sweep, alsoDependsOn: 5 }), '`alsoDependsOn` takes names'],
    ['an unknown name to depend on', w => w.node('a', { job: sweep, alsoDependsOn: 'x' }), 'no node of that name'],
  ])('with %s is refused, naming it', (_what, describe, message) => {
    expect(refused(describe)).toMatch(message)
  })

  it('also depends on what it names, besides the one before it or what it depends on', () => {
    const graph = buildGraph(w => {
      const a = w.node('a', { job: sweep })
      w.node('b', { job: sweep, dependsOn: null })
      w.node('c', { job: sweep, alsoDependsOn: a })
      const many = w.fanOut(['d', 'e'], { name: name => name, job: sweep, dependsOn: 'a', alsoDependsOn: ['b', 'a'] })
      w.node('f', { job: sweep, dependsOn: 'c', alsoDependsOn: many })
      w.node('g', { job: sweep, dependsOn: null, alsoDependsOn: 'later' })
      w.savePoint('point', { alsoDependsOn: 'f' })
      w.node('later', { job: sweep, dependsOn: null, alsoDependsOn: null })
    })
    expect(edgesOf(graph)).toEqual({
      a: [],
      b: [],
      c: ['b', 'a'],
      d: ['a', 'b'],
      e: ['a', 'b'],
      f: ['c', 'd', 'e'],
      g: ['later'],
      point: ['g', 'f'],
      later: [],
    })
  })

  it('that stands first in a branch still belongs to it', () => {
    const graph = buildGraph(w => {
      w.node('before', { job: sweep, dependsOn: null })
      w.condition('asked', 'true', {
        then: b => b.node('inside', { job: sweep, alsoDependsOn: 'before' }),
        dependsOn: null,
      })
    })
    expect(edgesOf(graph).inside).toEqual(['asked', 'before'])
    expect(nodeNamed(graph, 'inside').guard).toMatchObject({ when: true })
  })
})

describe('a resumable job', () => {
  const copy = defineJob('copy', { resumable: true, yieldEvery: 5, maxRuntime: '1s' }, async (_args, _job, iter) => {
    await iter.checkpoint()
  })

  it('makes its node resumable, with or without arguments, and structure stays what it was', () => {
    const graph = buildGraph(w => void w.node('a', { job: copy, timeout: '1s' }))
    expect(nodeNamed(graph, 'a')).toEqual({
      name: 'a',
      job: 'copy',
      kind: 'resumable',
      depends_on: [],
      timeout_ms: 1000,
    })
    expect(copy.resumable).toEqual({ yieldEvery: 5, maxRuntimeMs: 1000, maxIterations: null, checkpoint: 'coalesced' })
    expect(sweep.resumable).toBeNull()
    const plain = defineJob('copy', () => {})
    expect(buildGraph(w => void w.node('a', { job: plain })).signature).toBe(graph.signature)
  })

  it.each<[string, (w: any) => unknown, string]>([
    ['called once', w => w.node('a', { job: copy, idempotent: false }), 'is resumable and may be called again'],
    ['what undoes a node', w => w.node('a', { job: sweep, compensate: copy }), 'only what a node itself runs can be'],
    [
      'what settles a lost call',
      w => w.node('a', { job: sweep, idempotent: false, reconcile: copy }),
      'only what a node itself runs can be',
    ],
  ])('cannot be %s', (_what, describe, message) => {
    expect(refused(describe)).toContain(message)
  })

  it('is refused as a job of a class, which has resumable steps', () => {
    const declare = (verb: 'job' | 'eachJob') =>
      thrownBy(() => {
        class Copying extends Workflow {
          static {
            this[verb]('copy', { job: copy, items: () => [] } as never)
          }
        }
        return Copying
      }).message
    expect(declare('job')).toContain('Copying, job copy: job copy is resumable')
    expect(declare('eachJob')).toContain('this.resumableStep')
  })

  it.each<[string, object, string]>([
    ['a word', { resumable: 'yes' }, '`resumable` must be true or false'],
    ['a transaction as well', { resumable: true, transaction: true }, 'resumable or has a transaction, not both'],
    ['a number of items that is none', { resumable: true, yieldEvery: 0 }, '`yieldEvery` must be a whole number'],
    ['its options alone', { maxIterations: 5 }, '`maxIterations` belongs to a resumable job'],
  ])('is refused with %s', (_what, options, message) => {
    const error = thrownBy(() => defineJob('odd', options as never, () => {}))
    expect(error.code).toBe('DEFINITION')
    expect(error.message).toContain('defineJob("odd")')
    expect(error.message).toContain(message)
  })
})

describe('the signature', () => {
  const signature = (options: object) => buildGraph(w => void w.node('a', { job: sweep, ...options })).signature

  it('tells expressions apart, and is what it was where there is none', () => {
    const [plain, runIf, skipIf, other] = [{}, { if: 'true' }, { skipIf: 'true' }, { if: 'false' }].map(signature)
    expect(new Set([plain, runIf, skipIf, other]).size).toBe(4)
    expect(signature({ timeout: '1s', retry: 3 })).toBe(plain)
    expect(plain).toBe('3080e0c8ed28ad43f5f17fcb754d194336b1d31c44984cd0185edaa459a2fadb')
  })
})

describe('a stored node', () => {
  const parse = (edit: (second: any) => void) => parseFrozenGraph(edited((_graph, _first, second) => edit(second)))

  it('comes back as it was', () => {
    const text = exported(w => {
      w.node('first', { job: sweep, timeout: 250, skipIf: '{{ eq .a 1 }}' })
      w.waitFor('second', { if: 'outputs.first == "swept"' })
      w.node('third', { job: add, args: { a: 1 }, alsoDependsOn: 'first' })
    })
    expect(parseFrozenGraph(text)).toEqual(JSON.parse(text))
  })

  it.each<[string, (node: any) => void, string]>([
    ['a timeout that is a text', node => Object.assign(node, { timeout_ms: '5s' }), 'its timeout_ms must be a number'],
    ['a timeout of 0', node => Object.assign(node, { timeout_ms: 0 }), 'a timeout of 0'],
    [
      'a timeout and no job',
      node => Object.assign(node, { kind: 'human', job: undefined, args: undefined, timeout_ms: 5 }),
      'timeout_ms belongs to nodes with a job',
    ],
    ['both expressions', node => Object.assign(node, { if: 'true', skip_if: 'true' }), 'has both'],
    ['an expression that is none', node => Object.assign(node, { if: 'input.' }), 'is not understood'],
    ['an expression that is no text', node => Object.assign(node, { skip_if: 5 }), 'A condition is a text'],
    ['an output that is not there', node => Object.assign(node, { if: 'outputs.x' }), 'no such node'],
    [
      'an expression of a fork',
      node => Object.assign(node, { kind: 'fork', job: undefined, args: undefined, if: 'true' }),
      'if belongs to nodes of the kind',
    ],
    [
      'an expression for a method',
      node => Object.assign(node, { job: undefined, method: 'x', args: undefined, if: 'true' }),
      'whether a method runs is said by its class',
    ],
  ])('with %s is refused', (_what, edit, message) => {
    const error = thrownBy(() => parse(edit))
    expect(error.code).toBe('INVALID_GRAPH')
    expect(error.message).toContain(message)
    expect(error.message).toContain('second')
  })
})

describe('the defaults of a graph', () => {
  const careful = defineJob('careful', { retry: 5, timeout: '1m', onException: 'skip', queue: 'slow' }, async () => {})
  const defaults = { retry: 3, timeout: '10s', onException: 'dlq', queue: 'graphs', priority: 7 } as const

  it('hold for nodes that say nothing else, and whose jobs do not', () => {
    const graph = buildGraph(w => {
      w.defaults(defaults)
      w.node('plain', { job: sweep })
      w.node('own', { job: sweep, onException: 'cancel', timeout: '1s', priority: 1 })
      w.node('careful', { job: careful })
      w.node('once', { job: sweep, idempotent: false })
      w.human('ask')
      w.waitFor('news')
      w.fork('apart', { a: b => b.node('inside', { job: sweep }), b: b => b.node('beside', { job: sweep }) })
      w.savePoint('saved')
    })
    const plain = { retry: { attempts: 3 }, timeout_ms: 10_000, on_exception: 'dlq', queue: 'graphs', priority: 7 }
    expect(nodeNamed(graph, 'plain')).toMatchObject(plain)
    expect(nodeNamed(graph, 'inside')).toMatchObject(plain)
    expect(nodeNamed(graph, 'own')).toMatchObject({ ...plain, on_exception: 'cancel', timeout_ms: 1000, priority: 1 })
    expect(nodeNamed(graph, 'careful')).toEqual({
      name: 'careful',
      job: 'careful',
      depends_on: expect.any(Array),
      priority: 7,
    })
    expect(nodeNamed(graph, 'once')).toMatchObject({ once: { reconciles: false }, timeout_ms: 10_000 })
    expect(nodeNamed(graph, 'once')).not.toHaveProperty('retry')
    expect(nodeNamed(graph, 'once')).not.toHaveProperty('on_exception')
    for (const name of ['ask', 'news']) {
      expect(nodeNamed(graph, name)).toMatchObject({ on_exception: 'dlq', queue: 'graphs', priority: 7 })
      expect(nodeNamed(graph, name)).not.toHaveProperty('timeout_ms')
      expect(nodeNamed(graph, name)).not.toHaveProperty('wait_timeout_ms')
    }
    expect(nodeNamed(graph, 'saved')).not.toHaveProperty('on_exception')
    const stored = JSON.stringify(graph.freeze('2026-01-01T00:00:00.000Z'))
    expect(parseFrozenGraph(stored).nodes).toEqual(JSON.parse(stored).nodes)
  })

  it('may be said in parts, and are refused when they come late or are wrong', () => {
    const graph = buildGraph(w => {
      w.defaults({ retry: 2 })
      w.defaults({ queue: 'graphs' })
      w.node('a', { job: sweep })
    })
    expect(nodeNamed(graph, 'a')).toMatchObject({ retry: { attempts: 2 }, queue: 'graphs' })
    const late = (w: GraphBuilder) => {
      w.node('a', { job: sweep })
      w.defaults({ retry: 2 })
    }
    expect(refused(late)).toContain('before its first node')
    expect(refused(w => w.defaults({ onException: (() => 'skip') as never }))).toContain('The defaults of the graph')
    expect(refused(w => w.defaults({ retries: 2 } as never))).toContain('retries')
    expect(refused(w => w.defaults(null as never))).toContain('must be an object')
  })
})
