/** The input of a workflow, with and without a schema. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { definitionOf } from '../../../src/definition/compile.ts'
import { validateInput } from '../../../src/definition/validate-input.ts'
import type { WorkflowDefinition } from '../../../src/definition/workflow-definition.ts'
import { InputValidationError, InvalidArgumentError } from '../../../src/errors.ts'
import { sampleClass } from './sample-workflow.ts'

const Checkout = z.object({
  coupon: z.string().optional(),
  lines: z.array(z.object({ amount: z.number() })).default([]),
})
const withSchema = definitionOf(sampleClass(w => w.input(Checkout)))
const without = definitionOf(sampleClass())

async function refusalOf(definition: WorkflowDefinition, input: unknown): Promise<InputValidationError> {
  const refusal = await validateInput(definition, input).catch((error: unknown) => error)
  if (refusal instanceof InputValidationError) return refusal
  throw new Error('the input was not refused')
}

describe('with a schema', () => {
  test('the input is what the schema makes of it', async () => {
    expect(await validateInput(withSchema, { coupon: 'x', extra: 1 })).toEqual({ coupon: 'x', lines: [] })
  })

  test('no input is an empty one, so that defaults are filled in', async () => {
    expect(await validateInput(withSchema, undefined)).toEqual({ lines: [] })
    expect(await validateInput(withSchema, null)).toEqual({ lines: [] })
  })

  test('a bad input is refused, and each issue says where', async () => {
    const failure = await refusalOf(withSchema, { coupon: 5, lines: [{ amount: 'x' }] })
    expect(failure.issues.map(issue => issue.path)).toEqual(['coupon', 'lines.0.amount'])
    expect(failure.message).toContain('The input for Sample is not valid')
    const whole = await refusalOf(withSchema, 'text')
    expect(whole.issues).toEqual([{ message: expect.any(String) }])
  })

  test('the schema may be asynchronous, and may name its paths by objects', async () => {
    const issues = [{ message: 'taken', path: [{ key: 'user' }, Symbol.for('name'), 0] }]
    const slow = { '~standard': { version: 1, vendor: 'test', validate: async () => ({ issues }) } }
    const failure = await refusalOf(definitionOf(sampleClass(w => w.input(slow))), {})
    expect(failure.issues).toEqual([{ message: 'taken', path: 'user.Symbol(name).0' }])
  })

  test('what the schema throws comes through', async () => {
    const broken = { '~standard': { version: 1, vendor: 'test', validate: () => Promise.reject(new Error('broken')) } }
    await expect(validateInput(definitionOf(sampleClass(w => w.input(broken))), {})).rejects.toThrow('broken')
  })
})

describe('without a schema', () => {
  test('a plain object is passed on as it is', async () => {
    const input = { currency: 'EUR' }
    expect(await validateInput(without, input)).toBe(input)
    const bare = Object.assign(Object.create(null), { a: 1 })
    expect(await validateInput(without, bare)).toBe(bare)
  })

  test('no input is an empty one', async () => {
    expect(await validateInput(without, undefined)).toEqual({})
    expect(await validateInput(without, null)).toEqual({})
  })

  test.each([5, 'text', true, 1n, [], new Date(0), new Map(), () => {}, Symbol('x')])('%s is refused', async input => {
    await expect(validateInput(without, input)).rejects.toThrow(InvalidArgumentError)
  })
})
