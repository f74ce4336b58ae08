/** Conditions in CEL: what they see, what they answer, and the texts that are refused. */
// biome-ignore-all lint/suspicious/noThenProperty: `then` is a branch of a condition.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { buildGraph } from '../../../src/definition/build-graph.ts'
import type { ConditionFacts } from '../../../src/definition/condition-facts.ts'
import { parseFrozenGraph } from '../../../src/definition/parse-frozen-graph.ts'
import { checkCondition, evaluateCondition, outputsIn } from '../../../src/definition/stored-condition.ts'
import { InvalidGraphError } from '../../../src/errors.ts'
import { frozenAt, nodeNamed, sweep } from './sample-graphs.ts'

function facts(given: Partial<ConditionFacts> = {}): ConditionFacts {
  return { outputs: {}, output: undefined, args: {}, input: {}, workflowId: '42', node: 'large', ...given }
}

const answer = (text: string, given: Partial<ConditionFacts> = {}) => evaluateCondition(text, facts(given))

describe('an expression', () => {
  test.each<[string, Partial<ConditionFacts>, boolean]>([
    ['outputs.aggregate.total > 100', { outputs: { aggregate: { total: 101 } } }, true],
    ['outputs.aggregate.total > 100', { outputs: { aggregate: { total: 100 } } }, false],
    ['outputs.aggregate.total > 100', { outputs: { aggregate: { total: 100.5 } } }, true],
    ['outputs["two words"].ok', { outputs: { 'two words': { ok: true } } }, true],
    ['outputs.sum == 5', { outputs: { sum: 5 } }, true],
    ['outputs.sum == 5', { outputs: { sum: 5n } }, true],
    ['input.country != "NL" && input.total >= 10', { input: { country: 'BE', total: 10 } }, true],
    ['args.flags.exists(flag, flag == "x")', { args: { flags: ['y', 'x'] } }, true],
    ['"x" in args.tags', { args: { tags: new Set(['x']) } }, true],
    ['has(input.email)', { input: {} }, false],
    ['has(input.email)', { input: { email: null } }, true],
    ['workflow.id == "42" && workflow.node == "large"', {}, true],
    ['input.at < timestamp("2030-01-01T00:00:00Z")', { input: { at: new Date(0) } }, true],
    ['size(input.items) == 2', { input: { items: [1, 2] } }, true],
    ['input.items.filter(i, i > 1).size() == 1', { input: { items: [1, 2] } }, true],
    ['input.note.contains("matches (a)")', { input: { note: 'it matches (a) thing' } }, true],
  ])('%s of %o is %s', (text, given, expected) => {
    expect(answer(text, given)).toBe(expected)
  })

  test.each<[string, object, boolean]>([
    ['input.a * 2 > 10', { a: 5.5 }, true],
    ['input.a * 2 > 10', { a: 5 }, false],
    ['input.a * 1.5 > 10', { a: 8 }, true],
    ['input.a + input.b > 10', { a: 8, b: 2.5 }, true],
    ['input.a + input.b == 3', { a: 0.5, b: 2.5 }, true],
    ['input.a - 2 == 0.5', { a: 2.5 }, true],
    ['2 - input.a == -0.5', { a: 2.5 }, true],
    ['2.5 - input.a == 0.5', { a: 2 }, true],
    ['-input.a + 1 < 0', { a: 2.5 }, true],
    ['input.a / 2.0 == 2.5', { a: 5 }, true],
    ['input.a / 2 == 2.75', { a: 5.5 }, true],
    ['input.a % 2 == 1.5', { a: 5.5 }, true],
    ['input.a % 1.5 == 0.5', { a: 5 }, true],
    ['input.a % 1.5 == 1.0', { a: 5.5 }, true],
    ['input.a * 1.0 == 5', { a: 5 }, true],
    ['double(input.a) == 5', { a: 5 }, true],
    ['double(input.a) != 5', { a: 5.5 }, true],
    ['input.a == 5', { a: 5.5 }, false],
    ['input.a == 5.5', { a: 5 }, false],
    ['input.a == 5.0', { a: 5 }, true],
    ['5 == 5.0 && 5.5 != 5', {}, true],
    ['input.a < input.b', { a: 5, b: 5.5 }, true],
    ['input.a in [1, 2.5]', { a: 2.5 }, true],
    ['input.list.all(x, x * 2 > 1)', { list: [1, 2.5] }, true],
    ['input.list.map(x, x + 0.5) == [1.5, 3]', { list: [1, 2.5] }, true],
    ['size(input.list) * 1.5 == 3', { list: [1, 2] }, true],
    ['size(input.list) * input.a == 3', { list: [1, 2], a: 1.5 }, true],
    ['size(input.list) > input.a', { list: [1, 2], a: 1.5 }, true],
    ['int(input.a * 1.5) == 4', { a: 3 }, true],
    ['input.a * 2 > 1', { a: 1e300 }, true],
    ['(input.yes ? input.a : 2.5) * 2 == 4', { yes: true, a: 2 }, true],
  ])('computes and compares numbers as one: %s of %o is %s', (text, input, expected) => {
    expect(answer(text, { input })).toBe(expected)
  })

  test.each<[string, object, boolean]>([
    ['input.a / 2 == 2', { a: 5 }, true],
    ['size(input.list) / 2 == 1', { list: [1, 2, 3] }, true],
    ['input.a % 2 == 1', { a: 5 }, true],
    ['input.list[input.a] == "y"', { a: 1, list: ['x', 'y'] }, true],
    ['input.list[input.a / 2] == "z"', { a: 5, list: ['x', 'y', 'z'] }, true],
    ['input.list[size(input.list) - input.a] == "y"', { a: 1, list: ['x', 'y'] }, true],
    ['input.text.substring(size(input.text) - input.a) == "c"', { a: 1, text: 'abc' }, true],
    ['string(input.a) == "5"', { a: 5 }, true],
    ['int(input.a) * 2 == 10', { a: 5.7 }, true],
    ['type(input.a * 2) == int', { a: 5 }, true],
    ['input.a * 2 == 18014398509481982', { a: Number.MAX_SAFE_INTEGER }, true],
    ['{1: true}[input.a]', { a: 1 }, true],
  ])('leaves whole numbers among themselves to CEL: %s of %o is %s', (text, input, expected) => {
    expect(answer(text, { input })).toBe(expected)
  })

  test.each(['__proto__', 'constructor', 'toString'])('never finds %s that is inherited', name => {
    expect(answer(`has(input.${name})`, { input: {} })).toBe(false)
    expect(() => answer(`input.${name} == 1`, { input: {} })).toThrow(InvalidGraphError)
  })

  test.each([
    ['outputs.missing.total > 1', {}],
    ['input.a > 1', { input: { a: 'text' } }],
    ['input.a', { input: { a: 'yes' } }],
    ['input.a / 0 == 1', { input: { a: 1 } }],
    ['input.a / 0 == 1', { input: { a: 1.5 } }],
    ['input.a % 0 == 1', { input: { a: 1.5 } }],
    ['input.a % 0.0 == 1', { input: { a: 1 } }],
    ['input.a * 2 > 1', { input: { a: 'text' } }],
  ])('%s of %o has no answer', (text, given) => {
    expect(() => answer(text, given)).toThrow(InvalidGraphError)
  })

  test('tells which outputs it depends on', () => {
    expect(outputsIn('outputs.a.b > outputs["c d"].e + outputs. f')).toEqual(new Set(['a', 'c d', 'f']))
    expect(outputsIn('input.outputs.x == "outputs.y"')).toEqual(new Set())
    expect(outputsIn('outputs[input.key] > 1')).toBeNull()
    expect(outputsIn('size(outputs) > 1')).toBeNull()
    expect(outputsIn('outputs//\n.a == outputs[//\n"b"] // outputs.c')).toEqual(new Set(['a', 'b']))
    expect(outputsIn('// """\noutputs.a == 1 // """')).toEqual(new Set(['a']))
    expect(outputsIn('outputs.list.all(outputs, outputs.b == input.outputs)')).toEqual(new Set(['list']))
  })
})

describe('in a graph', () => {
  const asking = (test: string, dependsOn: string | null = 'sum') =>
    buildGraph(w => {
      w.node('sum', { job: sweep })
      w.node('other', { job: sweep, dependsOn: null })
      w.condition('large', test, { then: b => b.node('taken', { job: sweep }), dependsOn })
    })

  test('an expression may ask for what has come before it', () => {
    const graph = asking('outputs.sum.total > 100')
    expect(nodeNamed(graph, 'large').test).toBe('outputs.sum.total > 100')
    expect(parseFrozenGraph(JSON.stringify(graph.freeze(frozenAt))).signature).toBe(graph.signature)
  })

  test.each<[string, string]>([
    ['outputs.nobody > 1', 'Node "large" asks for the output of "nobody", but the graph has no node of that name.'],
    ['outputs.other > 1', 'Node "large" refers to the output of "other", but it does not come after'],
    ['outputs.taken > 1', 'Node "large" refers to the output of "taken"'],
    ['outputs.sum >', 'The condition "outputs.sum >" is not understood'],
  ])('%s is refused when it is built, and when it is imported', (text, message) => {
    expect(() => asking(text)).toThrow(InvalidGraphError)
    expect(() => asking(text)).toThrow(message)
    const edited = JSON.parse(
      JSON.stringify(asking('outputs.sum > 1').freeze(frozenAt)).replace('outputs.sum > 1', text),
    )
    expect(() => parseFrozenGraph(edited)).toThrow(InvalidGraphError)
  })

  test('a mistake is shown where it is', () => {
    expect(() => checkCondition('input.a > 1 &&')).toThrow(/input\.a > 1 &&\n +\^/)
  })
})

/** Doubles a list as often as it says, each time under another name. */
function bound(times: number): string {
  const inner = Array.from({ length: times }, (_, index) => `cel.bind(v${index + 1}, v${index} + v${index}, `).join('')
  return `cel.bind(v0, [1, 1], ${inner}size(v${times}) > 1${')'.repeat(times + 1)}`
}

describe('what is no expression', () => {
  test.each<[string, RegExp]>([
    ['outputs.a >', /is not understood/],
    ['1 + 2', /comes to a int, and not to true or false/],
    ['"text"', /comes to a string/],
    ['input.a * 2', /is a computation, and not true or false/],
    ['input.a ? 1 + input.b : input.c * 2', /is a computation, and not true or false/],
    ['unknown > 1', /is not understood: .*unknown/i],
    ['input.name.matches("(a+)+$")', /refused at character 12: matches could take for ever/],
    ['input.a.all(x, input.b.all(y, x < y))', /a loop inside of a loop/],
    ['input.a.map(x, [x].filter(y, y > 1)).size() > 0', /a loop inside of a loop/],
    ['input.name.matches//\n("^(a+)+$")', /refused at character 12: matches could take for ever/],
    ['// """\ninput.name.matches("^(a+)+$") // """', /refused at character 19: matches could take for ever/],
    ['input.a.all//\n(x, input.a.all(y, x < y))', /a loop inside of a loop/],
    ['input.a.all(x, size(x.b.filter(y, y > 1)) > 0)', /a loop inside of a loop/],
    [bound(20), /refused at character 5: bind could use up all memory/],
    ['cel//\n.bind(a, input.b, a == 1)', /bind could use up all memory/],
    [`size([[1, 1]]${'.map(x, x + x)'.repeat(30)}) > 1`, /could become far larger than what it is computed from/],
    [`["a"]${'.map(x, x + x)'.repeat(30)} == []`, /could become far larger/],
    [`[1]${'.map(x, [x, x])'.repeat(30)} == [2]`, /could become far larger/],
    [`[1]${'.map(x, {"a": x, "b": x})'.repeat(30)} == [2]`, /could become far larger/],
    [`[input.a]${'.map(x, true, x + x)'.repeat(10)} == []`, /could become far larger/],
    [`input.a${'.split("").join("abcdefgh")'.repeat(20)} == "a"`, /could become far larger/],
    [`"aaaa"${'.split("").join("abcdefgh")'.repeat(20)} == "a"`, /could become far larger/],
    [`input.a${'.split("").join(input.b)'.repeat(2)} == "a"`, /could become far larger/],
    [`${'bytes('.repeat(30)}input.a${').hex()'.repeat(30)} == "a"`, /could become far larger/],
    [`size(input.s${'.split("").map(x, input.s).join("")'.repeat(3)}) > 0`, /could become far larger/],
    [`size(input.a${'.map(x, input.a + [x])'.repeat(2)}) > 0`, /could become far larger/],
    [`size(input.a${' + input.a'.repeat(150)}) > 1`, /could become far larger/],
    [`${'('.repeat(200)}true${')'.repeat(200)}`, /is not understood/],
  ])('%s is refused', (text, message) => {
    expect(() => checkCondition(text)).toThrow(InvalidGraphError)
    expect(() => checkCondition(text)).toThrow(message)
  })

  test('one loop behind another is none inside of it', () => {
    expect(() => checkCondition('input.a.filter(x, x > 1).all(y, y < 5) && input.b.exists(z, z == 1)')).not.toThrow()
  })

  test.each([
    'input.items.map(i, i.price * i.count + i.price).filter(sum, sum > 10 || sum < 0).all(sum, sum + sum < 100)',
    'input.tags.map(tag, tag + " of " + input.name).join(", ").lowerAscii().trim().contains("matches(x)")',
    `input.a${' + input.a'.repeat(50)} > 5`,
    `input.a in [${Array.from({ length: 200 }, (_, index) => index).join(', ')}]`,
    'input.bind.matches == input.all && input.map.filter // of cel.bind(a, b, c) and x.matches("(a+)+$")',
    'input.a == "x.matches(y)" || input.b == r"cel.bind(" || input.c == """a.all(x, b.all("""',
  ])('%s is asked', text => {
    expect(() => checkCondition(text)).not.toThrow()
  })
})

describe('any text', () => {
  const pieces = fc.constantFrom(
    'outputs',
    'input',
    '.a',
    '["b"]',
    ' > ',
    ' == ',
    '1',
    '1.5',
    '"x"',
    "'",
    '"',
    '(',
    ')',
    '[',
    ']',
    '!',
    ' && ',
    ' ? ',
    ' : ',
    '.all(',
    'x, ',
    'has(',
    'size(',
    '-',
    '__proto__',
    '.constructor',
  )
  const texts = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(pieces, { maxLength: 30 }).map(parts => parts.join('')),
  )

  test('is checked and answered at once, by an answer or by our error', () => {
    fc.assert(
      fc.property(texts, fc.jsonValue(), (text, value) => {
        try {
          const given = { outputs: { a: value, b: value }, input: value, args: value }
          expect(typeof answer(text, given)).toBe('boolean')
        } catch (error) {
          expect(error).toBeInstanceOf(InvalidGraphError)
        }
      }),
      { numRuns: 2000 },
    )
  })
})
