/** The arguments of a node: outputs are filled in wherever they were referred to, and nothing else is touched. */
import { describe, expect, it } from 'vitest'
import { decodeArgs, encodeArgs, fillArgs, outputsWanted } from '../../../src/definition/node-args.ts'
import { OutputReference } from '../../../src/definition/output-reference.ts'
import { decodeValue, encodeValue } from '../../../src/primitives/json-codec.ts'
import { thrownBy } from './sample-graphs.ts'

const encode = (args: object) => encodeArgs(args, 'The args', 10_000).json
const outputs: Record<string, unknown> = { n_1: { total: 5 }, n_2: new Date(0), n_3: undefined }
const filled = (args: object) => fillArgs(encode(args), async id => outputs[id])

const [one, two, three] = ['n_1', 'n_2', 'n_3'].map(id => new OutputReference(id)) as [
  OutputReference,
  OutputReference,
  OutputReference,
]

describe('filling in', () => {
  it('replaces references wherever they stand', async () => {
    const args = {
      plain: one,
      list: [1, [two]],
      deep: { er: { still: three } },
      map: new Map([[one, two]]),
      set: new Set([two]),
      all: new OutputReference(['n_2', 'n_1', 'n_2']),
      none: new OutputReference([]),
    }
    expect(await filled(args)).toEqual({
      plain: { total: 5 },
      list: [1, [new Date(0)]],
      deep: { er: { still: undefined } },
      map: new Map([[{ total: 5 }, new Date(0)]]),
      set: new Set([new Date(0)]),
      all: [new Date(0), { total: 5 }, new Date(0)],
      none: [],
    })
  })

  it('may stand for all arguments at once', async () => {
    expect(await fillArgs(encode(one), async id => outputs[id])).toEqual({ total: 5 })
  })

  it('leaves everything else as it was, also what looks like a reference', async () => {
    const args = {
      when: new Date(5),
      large: 5n,
      lookalike: { $geneva: 'output', value: 'n_1' },
      lookalikes: [{ $geneva: 'outputs', value: ['n_1'] }],
      both: { $geneva: 'output', value: one },
    }
    expect(await filled(args)).toEqual({ ...args, both: { $geneva: 'output', value: { total: 5 } } })
  })

  it('asks once for each output, and for nothing that is not referred to', async () => {
    const asked: string[] = []
    const args = encode({
      a: one,
      b: [one, new OutputReference(['n_1', 'n_2'])],
      c: { $geneva: 'output', value: 'n_3' },
    })
    await fillArgs(args, async id => asked.push(id))
    expect(asked).toEqual(['n_1', 'n_2'])
    expect(outputsWanted(args)).toEqual(new Set(['n_1', 'n_2']))
  })

  it('gives an empty object where a node has no arguments', async () => {
    expect(await fillArgs(undefined, async () => 1)).toEqual({})
    expect(outputsWanted(undefined)).toEqual(new Set())
  })

  it('does not change what is stored', async () => {
    const args = encode({ a: one, when: new Date(0) })
    const before = JSON.stringify(args)
    await fillArgs(args, async () => 1)
    await fillArgs(args, async () => 2)
    expect(JSON.stringify(args)).toBe(before)
  })

  it('fails with what reading an output failed with', async () => {
    const missing = new Error('it was skipped')
    await expect(fillArgs(encode({ a: one }), async () => Promise.reject(missing))).rejects.toBe(missing)
  })

  it('says so when stored arguments are damaged', async () => {
    await expect(fillArgs({ a: { $geneva: 'outputs', value: 'n_1' } }, async () => 1)).rejects.toMatchObject({
      code: 'SCHEMA',
      message: expect.stringContaining('the tag "outputs"'),
    })
  })
})

describe('a reference', () => {
  it('comes back as a reference from arguments that are read to be edited', () => {
    expect(decodeArgs(encode({ a: one, b: new OutputReference(['n_1']) }))).toEqual({
      a: one,
      b: new OutputReference(['n_1']),
    })
  })

  it('is refused in inputs and outputs, which nobody would fill in', () => {
    const error = thrownBy(() => encodeValue({ a: one }, { what: 'The input', maxBytes: 1_000 }))
    expect(error).toMatchObject({ code: 'UNSTORABLE_VALUE', path: '$.a' })
    expect(thrownBy(() => decodeValue('{"$geneva":"output","value":"n_1"}'))).toMatchObject({ code: 'SCHEMA' })
  })
})
