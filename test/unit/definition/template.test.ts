/** Templates: graphs under a name with arguments, which a graph that was expanded from one keeps as a note. */
import { describe, expect, it } from 'vitest'
import { buildGraph } from '../../../src/definition/build-graph.ts'
import type { GraphBuilder } from '../../../src/definition/graph-builder.ts'
import { defaultGraphLimits } from '../../../src/definition/graph-limits.ts'
import { parseFrozenGraph } from '../../../src/definition/parse-frozen-graph.ts'
import { defineTemplate, expandTemplate, isTemplate } from '../../../src/definition/template.ts'
import { isGenevaError } from '../../../src/errors.ts'
import { add, edgesOf, frozenAt, sweep, thrownBy } from './sample-graphs.ts'

interface Period {
  readonly from: Date
  readonly days: number
}

const report = defineTemplate('report', (w, { days }: Period) => {
  w.fanOut(Array(days).keys(), { name: day => `day_${day}`, job: add, args: day => ({ a: day }) })
  w.node('send', { job: sweep })
})

describe('a template', () => {
  it('is expanded by its arguments', () => {
    const graph = expandTemplate(report, { from: new Date(0), days: 2 })
    expect(edgesOf(graph)).toEqual({ day_0: [], day_1: [], send: ['day_0', 'day_1'] })
    expect(edgesOf(expandTemplate(report, { from: new Date(0), days: 0 }))).toEqual({ send: [] })
  })

  it('is noted by name and arguments in the graph, and stays there', () => {
    const frozen = expandTemplate(report, { from: new Date(0), days: 1 }).freeze(frozenAt)
    const from = { $geneva: 'date', value: '1970-01-01T00:00:00.000Z' }
    expect(frozen.template).toEqual({ name: 'report', args: { from, days: 1 } })
    expect(parseFrozenGraph(JSON.stringify(frozen))).toEqual(frozen)
  })

  it('makes no other graph than a plain function over the builder does', () => {
    const twoDays = (w: GraphBuilder) => report.describe(w, { from: new Date(0), days: 2 })
    const plain = buildGraph(twoDays)
    expect(plain.signature).toBe(expandTemplate(report, { from: new Date(0), days: 2 }).signature)
    expect(plain.freeze(frozenAt)).not.toHaveProperty('template')
  })

  it('is a frozen value, told from what looks like one', () => {
    expect(isTemplate(report)).toBe(true)
    expect(Object.isFrozen(report)).toBe(true)
    expect([null, undefined, () => {}, { ...report }].map(isTemplate)).not.toContain(true)
  })

  it.each<[string, unknown[], string]>([
    ['an empty name', ['', () => {}], 'is empty'],
    ['a name that is no text', [undefined, () => {}], 'is a undefined'],
    ['no function', ['report'], 'takes a name and a function'],
  ])('with %s is refused', (_what, given, message) => {
    const error = thrownBy(() => (defineTemplate as (...given: unknown[]) => unknown)(...given))
    expect(isGenevaError(error, 'DEFINITION')).toBe(true)
    expect(error.message).toContain(message)
  })
})

describe('expanding', () => {
  const any = defineTemplate('any', (w, _args: object) => void w.node('a', { job: sweep }))

  it.each<[string, unknown, string]>([
    ['no object', 5, 'must be an object'],
    ['a list', [1], 'must be an object'],
    ['not storable', { format: () => 1 }, 'a function at $.format'],
  ])('with arguments that are %s is refused', (_what, args, message) => {
    const error = thrownBy(() => expandTemplate(any, args as object))
    expect(error.code).toBe('INVALID_GRAPH')
    expect(error.message).toContain('"any"')
    expect(error.message).toContain(message)
  })

  it('counts the arguments among the bytes, and keeps to the other limits', () => {
    const limits = (more: object) => ({ ...defaultGraphLimits, ...more })
    const args = { text: 'x'.repeat(1_000) }
    const { bytes } = expandTemplate(any, args)
    expect(expandTemplate(any, args, limits({ bytes })).bytes).toBe(bytes)
    const tooLarge = { code: 'GRAPH_TOO_LARGE', limit: 'bytes' }
    expect(thrownBy(() => expandTemplate(any, args, limits({ bytes: bytes - 1 })))).toMatchObject(tooLarge)
    expect(thrownBy(() => expandTemplate(any, args, limits({ bytes: 500 })))).toMatchObject(tooLarge)
    expect(thrownBy(() => expandTemplate(any, args, limits({ nodes: 0 })))).toMatchObject({ limit: 'nodes' })
  })

  it('finds the mistakes of the graph', () => {
    const broken = defineTemplate('broken', w => void w.node('a', { job: sweep, dependsOn: 'b' }))
    expect(thrownBy(() => expandTemplate(broken, {})).message).toContain('depends on "b"')
  })
})
