/**
 * The template form of conditions: one comparison of two values, `{{ gt .amount 100 }}`, or one value that is true or
 * not. A field is looked up in what the single parent returned, then in the arguments, then in the input.
 */
import { InvalidGraphError } from '../errors.ts'
import type { ConditionFacts } from './condition-facts.ts'

type Operand = { readonly path: readonly string[] } | { readonly value: string | number | boolean }

interface Template {
  /** `null`: the one operand is the answer. */
  readonly compare: Comparison | null
  readonly operands: readonly Operand[]
}

type Comparison = 'eq' | 'ne' | 'gt' | 'lt' | 'ge' | 'le'

const comparisons: readonly string[] = ['eq', 'ne', 'gt', 'lt', 'ge', 'le'] satisfies Comparison[]

/** What may follow each other between the braces; all of them are of fixed form, so that no text takes long. */
const token =
  /(?<blank>[ \t\r\n]+)|(?<path>(?:\.[\p{ID_Start}_][\p{ID_Continue}]*)+)|(?<number>[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\p{ID_Continue}.])|(?<text>"(?:[^"\\\n]|\\.)*")|(?<raw>`[^`]*`)|(?<word>[A-Za-z_]\w*)/uy

interface Token {
  readonly kind: 'path' | 'number' | 'text' | 'raw' | 'word'
  readonly text: string
  readonly at: number
}

/** Throws `InvalidGraphError`, with the place in the text. */
export function checkTemplate(text: string): void {
  parse(text)
}

export function answerTemplate(text: string, facts: ConditionFacts): boolean {
  const { compare, operands } = parse(text)
  const [left, right] = operands.map(operand => ('path' in operand ? lookUp(operand.path, facts) : operand.value))
  if (compare === null) return left === true || left === 'true'
  if (compare === 'eq' || compare === 'ne') return isSame(left, right) === (compare === 'eq')
  return order(compare, numberIn(left, text), numberIn(right, text))
}

/** The fields that it looks up, without what lies inside of them. */
export function fieldsInTemplate(text: string): string[] {
  return parse(text).operands.flatMap(operand => ('path' in operand ? operand.path.slice(0, 1) : []))
}

function parse(text: string): Template {
  const [first, ...rest] = tokensIn(text)
  if (!first) throw mistake(text, 2, 'there is nothing between the braces')
  if (first.kind !== 'word' || isLiteral(first)) {
    refuseMore(text, rest, 0)
    return { compare: null, operands: [operandIn(first, text)] }
  }
  if (!comparisons.includes(first.text)) {
    throw mistake(text, first.at, `there is no function ${first.text}. Use one of ${comparisons.join(', ')}`)
  }
  refuseMore(text, rest, 2)
  if (rest.length < 2) throw mistake(text, text.length, `${first.text} compares two values`)
  return { compare: first.text as Comparison, operands: rest.map(operand => operandIn(operand, text)) }
}

function refuseMore(text: string, tokens: readonly Token[], count: number): void {
  const more = tokens[count]
  if (more) throw mistake(text, more.at, 'there is a value too many')
}

/** What stands between the braces, which are all of the text. */
function tokensIn(text: string): Token[] {
  const start = text.indexOf('{{') + 2
  const end = text.trimEnd().length - 2
  if (end < start || !text.trimEnd().endsWith('}}')) throw mistake(text, text.length, 'it does not end with }}')
  const tokens: Token[] = []
  for (let at = start; at < end; ) {
    token.lastIndex = at
    const found = token.exec(text)
    if (!found || at + found[0].length > end) throw mistake(text, at, 'this is no field, number, text or function')
    const [kind] = Object.entries(found.groups ?? {}).find(([, part]) => part !== undefined) ?? ['blank']
    if (kind !== 'blank') tokens.push({ kind: kind as Token['kind'], text: found[0], at })
    at += found[0].length
  }
  return tokens
}

function isLiteral({ text }: Token): boolean {
  return text === 'true' || text === 'false'
}

function operandIn(given: Token, source: string): Operand {
  const { kind, text, at } = given
  if (kind === 'path') return { path: text.slice(1).split('.') }
  if (kind === 'number') return { value: Number(text) }
  if (kind === 'raw') return { value: text.slice(1, -1) }
  if (kind === 'word' && isLiteral(given)) return { value: text === 'true' }
  if (kind === 'word') throw mistake(source, at, `${text} is no value. A field begins with a dot, a text with a quote`)
  try {
    return { value: JSON.parse(text) as string }
  } catch {
    throw mistake(source, at, 'this text has an escape that is not understood')
  }
}

/** Only what belongs to a value itself is found, never what it inherits. */
function lookUp([first = '', ...rest]: readonly string[], facts: ConditionFacts): unknown {
  if (rest.length === 0 && first === 'instance_id') return facts.workflowId
  if (rest.length === 0 && first === 'step_name') return facts.node
  const source = [facts.output, facts.args, facts.input].find(value => has(value, first))
  let found = fieldOf(source, first)
  for (const name of rest) found = fieldOf(found, name)
  return found
}

function has(value: unknown, name: string): value is object {
  if (value instanceof Map) return value.has(name)
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
}

function fieldOf(value: unknown, name: string): unknown {
  if (!has(value, name)) return undefined
  return value instanceof Map ? value.get(name) : (value as Record<string, unknown>)[name]
}

/** What is missing counts as 0 beside a number. */
function isSame(left: unknown, right: unknown): boolean {
  if (isNumber(left) && isNumber(right)) return order('eq', left, right)
  if (isMissing(left) && isNumber(right)) return order('eq', 0, right)
  if (isNumber(left) && isMissing(right)) return order('eq', left, 0)
  return left === right
}

/** Numbers of both kinds compare with each other. */
function order(compare: Comparison, left: number | bigint, right: number | bigint): boolean {
  switch (compare) {
    case 'gt':
      return left > right
    case 'lt':
      return left < right
    case 'ge':
      return left >= right
    case 'le':
      return left <= right
    default:
      return left >= right && left <= right
  }
}

function numberIn(value: unknown, text: string): number | bigint {
  if (isNumber(value)) return value
  if (isMissing(value)) return 0
  throw new InvalidGraphError(
    `The condition ${shown(text)} compares numbers, and there is a ${Array.isArray(value) ? 'list' : typeof value}.`,
  )
}

function isNumber(value: unknown): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint'
}

function isMissing(value: unknown): boolean {
  return value === undefined || value === null
}

function mistake(text: string, at: number, what: string): InvalidGraphError {
  return new InvalidGraphError(`The condition ${shown(text)} is not understood at character ${at + 1}: ${what}.`)
}

function shown(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text)
}
