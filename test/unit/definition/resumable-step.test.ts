/** What `resumableStep` accepts, its defaults, and the mistakes that it raises on the spot. */
import { describe, expect, test } from 'vitest'
import { definitionOf } from '../../../src/definition/compile.ts'
import { DefinitionError } from '../../../src/errors.ts'
import { sampleClass } from './sample-workflow.ts'

const nodeOf = (options?: object) => definitionOf(sampleClass(w => w.resumableStep('first', options))).nodes[0]

describe('a resumable step', () => {
  test('has defaults for everything that is not said', () => {
    expect(nodeOf()).toMatchObject({
      name: 'first',
      kind: 'resumable',
      body: 'first',
      resumable: { yieldEvery: null, maxRuntimeMs: null, maxIterations: null, checkpoint: 'coalesced' },
    })
  })

  test('keeps what is said, and what any step can say', () => {
    const options = { yieldEvery: 3, maxRuntime: '5 min', maxIterations: 10, checkpoint: 'each' }
    const node = nodeOf({ ...options, wait: 5, skipIf: 'yes', onException: 'skip', queue: 'slow', priority: 7 })
    expect(node?.resumable).toEqual({ yieldEvery: 3, maxRuntimeMs: 300_000, maxIterations: 10, checkpoint: 'each' })
    expect(node).toMatchObject({ waitMs: 5, condition: { test: 'yes', runsWhen: false }, queue: 'slow', priority: 7 })
    expect(node?.onException).toHaveLength(1)
  })

  test.each([
    [{ items: 100 }, { items: 100, timeMs: null }],
    [{ time: '1s' }, { items: null, timeMs: 1000 }],
    [
      { items: 5, time: 20 },
      { items: 5, timeMs: 20 },
    ],
  ])('may write a checkpoint now and then: %j', (checkpoint, expected) => {
    expect(nodeOf({ checkpoint })?.resumable?.checkpoint).toEqual(expected)
  })

  test('is a part of the shape of its class, and can be told from a plain step there', () => {
    const resumable = definitionOf(sampleClass(w => [w.resumableStep('first'), w.step('second')]))
    const plain = definitionOf(sampleClass(w => [w.step('first'), w.step('second')]))
    expect(resumable.graph.nodes.map(node => node.kind)).toEqual(['resumable', 'step'])
    expect(resumable.signature).not.toBe(plain.signature)
  })

  test('cannot be changed once it is declared', () => {
    expect(Object.isFrozen(nodeOf()?.resumable)).toBe(true)
    expect(Object.isFrozen(nodeOf({ checkpoint: { items: 2 } })?.resumable?.checkpoint)).toBe(true)
  })
})

describe('a mistake in a resumable step is raised when the class is defined and names class and step', () => {
  const rows: [what: string, options: unknown, message: RegExp][] = [
    ['a yieldEvery of nothing', { yieldEvery: 0 }, /`yieldEvery` must be a whole number above 0, not 0/],
    ['a yieldEvery that is not whole', { yieldEvery: 1.5 }, /`yieldEvery` must be a whole number above 0, not 1.5/],
    ['a maxIterations that is no number', { maxIterations: '5' }, /`maxIterations` must be a whole number/],
    ['a maxIterations below 1', { maxIterations: -1 }, /`maxIterations` must be a whole number/],
    ['a maxRuntime that is no duration', { maxRuntime: 'soon' }, /soon/],
    ['a negative maxRuntime', { maxRuntime: -1 }, /negative/],
    ['a checkpoint that does not exist', { checkpoint: 'sometimes' }, /`checkpoint` must be 'each' or an object/],
    ['no checkpoint', { checkpoint: null }, /`checkpoint` must be 'each' or an object/],
    ['a checkpoint that says nothing', { checkpoint: {} }, /`checkpoint` needs `items` or `time`/],
    ['a checkpoint after no items', { checkpoint: { items: 0 } }, /`items` must be a whole number above 0/],
    ['a checkpoint after no duration', { checkpoint: { time: 'soon' } }, /soon/],
    ['a checkpoint option that does not exist', { checkpoint: { item: 5 } }, /no option item/],
    ['an option that does not exist', { yieldevery: 5 }, /no option yieldevery/],
  ]
  test.each(rows)('%s', (_what, options, message) => {
    const declare = () => sampleClass(w => w.resumableStep('first', options))
    expect(declare).toThrow(DefinitionError)
    expect(declare).toThrow(message)
    expect(declare).toThrow(/^Sample, step first/)
  })

  test('a name given twice', () => {
    expect(() => sampleClass(w => [w.step('first'), w.resumableStep('first')])).toThrow(/already/)
  })

  test('an option of resumable steps on a plain one', () => {
    expect(() => sampleClass(w => w.step('first', { yieldEvery: 5 }))).toThrow(/no option yieldEvery/)
  })
})
