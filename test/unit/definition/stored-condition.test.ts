/** Conditions as they are stored: the template form, what it finds, and texts that are none. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ConditionFacts } from '../../../src/definition/condition-facts.ts'
import { checkCondition, evaluateCondition, outputsIn } from '../../../src/definition/stored-condition.ts'
import { InvalidGraphError } from '../../../src/errors.ts'

function facts(given: Partial<ConditionFacts> = {}): ConditionFacts {
  return { outputs: {}, output: undefined, args: {}, input: {}, workflowId: '42', node: 'large', ...given }
}

const answer = (text: string, input: unknown = {}) => evaluateCondition(text, facts({ input }))

describe('a template', () => {
  test.each<[string, unknown, boolean]>([
    ['{{ eq .count 5 }}', { count: 5 }, true],
    ['{{ eq .count 5 }}', { count: 6 }, false],
    ['{{ ne .status "active" }}', { status: 'idle' }, true],
    ['{{ ne .status "active" }}', { status: 'active' }, false],
    ['{{ gt .amount 100 }}', { amount: 100.5 }, true],
    ['{{ gt .amount 100 }}', { amount: 100 }, false],
    ['{{ lt .price 50 }}', { price: 49 }, true],
    ['{{ lt .price 50 }}', { price: 50 }, false],
    ['{{ ge .age 18 }}', { age: 18 }, true],
    ['{{ ge .age 18 }}', { age: 17 }, false],
    ['{{ le .count 10 }}', { count: 10 }, true],
    ['{{ le .count 10 }}', { count: 11 }, false],
    ['{{gt .amount 100}}', { amount: 101 }, true],
    [' {{ gt\n.amount\t-1.5e1 }} ', { amount: -15 }, false],
    ['{{ gt 5 .amount }}', { amount: 4 }, true],
    ['{{ gt .amount .limit }}', { amount: 4, limit: 3 }, true],
    ['{{ gt .amount 100 }}', { amount: 101n }, true],
    ['{{ eq .amount 100 }}', { amount: 100n }, true],
    ['{{ ge .user.age 18 }}', { user: { age: 20 } }, true],
    ['{{ eq .user.address.city "Bern" }}', { user: { address: { city: 'Bern' } } }, true],
    ['{{ eq .by.name "x" }}', { by: new Map([['name', 'x']]) }, true],
    ['{{ eq .text "a \\"quoted\\" \\u00e9" }}', { text: 'a "quoted" é' }, true],
    ['{{ eq .text `raw \\n` }}', { text: 'raw \\n' }, true],
    ['{{ eq .paid true }}', { paid: true }, true],
    ['{{ ne .paid false }}', { paid: true }, true],
    ['{{ eq .count "5" }}', { count: 5 }, false],
    ['{{ .paid }}', { paid: true }, true],
    ['{{ .paid }}', { paid: 1 }, false],
    ['{{ .paid }}', {}, false],
    ['{{ true }}', {}, true],
    ['{{ eq .instance_id "42" }}', { instance_id: 'other' }, true],
    ['{{ eq .step_name "large" }}', {}, true],
  ])('%s of %o is %s', (text, input, expected) => {
    expect(answer(text, input)).toBe(expected)
  })

  test.each<[string, boolean]>([
    ['{{ gt .missing 0 }}', false],
    ['{{ ge .missing 0 }}', true],
    ['{{ lt .missing.deep 1 }}', true],
    ['{{ eq .missing 0 }}', true],
    ['{{ ne 0 .missing }}', false],
    ['{{ eq .missing "" }}', false],
    ['{{ eq .missing false }}', false],
    ['{{ gt .nothing 0 }}', false],
  ])('takes a number that is missing for 0: %s is %s', (text, expected) => {
    expect(answer(text, { nothing: null })).toBe(expected)
  })

  test('looks a name up in what the single parent returned, then in the arguments, then in the input', () => {
    const text = '{{ eq .a 1 }}'
    const input = { a: 3 }
    expect(evaluateCondition(text, facts({ output: { a: 1 }, args: { a: 2 }, input }))).toBe(true)
    expect(evaluateCondition(text, facts({ output: 'no object', args: { a: 1 }, input }))).toBe(true)
    expect(evaluateCondition(text, facts({ args: {}, input: { a: 1 } }))).toBe(true)
    expect(evaluateCondition('{{ eq .a.b 1 }}', facts({ output: { a: {} }, input: { a: { b: 1 } } }))).toBe(false)
  })

  test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'length'])(
    'never finds %s that is inherited',
    name => {
      for (const output of [{}, [], 'text', () => {}]) {
        expect(evaluateCondition(`{{ ne .${name} 0 }}`, facts({ output, args: output, input: output }))).toBe(false)
        expect(evaluateCondition(`{{ ne .a.${name} 0 }}`, facts({ input: { a: output } }))).toBe(false)
      }
    },
  )

  test.each<[unknown]>([['text'], [true], [{}], [[1]]])('does not compare %o with a number by its size', value => {
    expect(() => answer('{{ gt .a 1 }}', { a: value })).toThrow(
      /^The condition "\{\{ gt \.a 1 \}\}" compares numbers, and there is a /,
    )
  })

  test('needs the outputs of no node by name', () => {
    expect(outputsIn('{{ gt .a 1 }}')).toEqual(new Set())
  })
})

describe('what is no template', () => {
  test.each<[string, string]>([
    ['{{ }}', 'at character 3: there is nothing between the braces'],
    ['{{ gt .a 1', 'at character 11: it does not end with }}'],
    ['{{', 'it does not end with }}'],
    ['{{}', 'it does not end with }}'],
    ['{{ gt .a }}', 'gt compares two values'],
    ['{{ gt .a 1 2 }}', 'at character 12: there is a value too many'],
    ['{{ .a 1 }}', 'at character 7: there is a value too many'],
    ['{{ add .a 1 }}', 'at character 4: there is no function add. Use one of eq, ne, gt, lt, ge, le'],
    ['{{ gt a 1 }}', 'at character 7: a is no value. A field begins with a dot'],
    ['{{ gt .a (1) }}', 'at character 10: this is no field, number, text or function'],
    ['{{ gt .a 1 }} and more', 'it does not end with }}'],
    ['{{ gt .a 1 }}{{ gt .a 1 }}', 'this is no field'],
    ['{{ eq .a "x }}', 'this is no field'],
    ['{{ eq .a "\\q" }}', 'this text has an escape that is not understood'],
    ['{{ eq .a 1.2.3 }}', 'this is no field'],
    ['{{ eq .a 0x10 }}', 'this is no field'],
    ['{{ eq .a..b 1 }}', 'this is no field'],
    ['{{ eq .users.0 5 }}', 'this is no field'],
    ['', 'A condition is a text'],
    ['  ', 'A condition is a text'],
    [`{{ eq .a "${'x'.repeat(2000)}" }}`, 'is too long'],
  ])('%s is refused', (text, message) => {
    expect(() => checkCondition(text)).toThrow(InvalidGraphError)
    expect(() => checkCondition(text)).toThrow(message)
    expect(() => answer(text)).toThrow(InvalidGraphError)
  })

  test('something that is no text is refused', () => {
    for (const value of [undefined, null, 5, () => true]) {
      expect(() => checkCondition(value as unknown as string)).toThrow(InvalidGraphError)
    }
  })
})

describe('any text', () => {
  const pieces = fc.constantFrom(
    '{{',
    '}}',
    ' ',
    '.',
    'gt',
    'eq',
    '.a',
    '.b.c',
    '.__proto__',
    '"',
    '\\',
    '`',
    '1',
    '-',
    '1e9',
    'true',
    '(',
  )
  const texts = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(pieces).map(parts => `{{ ${parts.join('')} }}`),
    fc.array(pieces).map(parts => parts.join(' ')),
  )

  test('is checked and answered at once, by an answer or by our error', () => {
    fc.assert(
      fc.property(texts, fc.jsonValue(), fc.jsonValue(), (text, output, input) => {
        let mistake: unknown = null
        try {
          checkCondition(text)
        } catch (error) {
          expect(error).toBeInstanceOf(InvalidGraphError)
          mistake = error
        }
        try {
          expect(typeof evaluateCondition(text, facts({ output, input }))).toBe('boolean')
          expect(mistake).toBeNull()
        } catch (error) {
          expect(error).toBeInstanceOf(InvalidGraphError)
        }
      }),
      { numRuns: 2000 },
    )
  })

  test('takes no longer for being made to', () => {
    const begun = process.cpuUsage()
    for (const text of [
      `{{ ${'.a'.repeat(990)} `,
      `{{ eq ${' '.repeat(1980)}`,
      `{{ "${'\\"'.repeat(990)}`,
      `{{ ${'1e'.repeat(990)}`,
    ]) {
      expect(() => checkCondition(text)).toThrow(InvalidGraphError)
    }
    expect(process.cpuUsage(begun).user / 1000).toBeLessThan(1000)
  })
})
