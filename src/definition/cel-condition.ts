/**
 * Conditions in CEL, the Common Expression Language: `outputs.aggregate.total > 100`. It sees `outputs` by the names of
 * nodes, `input`, `args`, and `workflow` with `id` and `node`. Two things that CEL has are refused, because a text could
 * make them take for ever: regular expressions, and loops inside of loops.
 */
import { Environment } from '@marcbachmann/cel-js'
import { InvalidGraphError } from '../errors.ts'
import { describeError } from '../primitives/describe-error.ts'
import { isArithmetic, registerMixedNumbers } from './cel-numbers.ts'
import type { ConditionFacts } from './condition-facts.ts'

type Answer = (facts: Record<string, unknown>) => unknown

const environment = registerMixedNumbers(
  new Environment({
    unlistedVariablesAreDyn: false,
    homogeneousAggregateLiterals: false,
    limits: { maxAstNodes: 1000, maxDepth: 50, maxListElements: 200, maxMapEntries: 200, maxCallArguments: 16 },
  }),
)
  .registerVariable('outputs', 'map')
  .registerVariable('input', 'dyn')
  .registerVariable('args', 'dyn')
  .registerVariable('workflow', 'map')

/** Read texts, the least recently read first: a condition is answered as often as its graph is started. */
const known = new Map<string, Answer>()
const mostKnown = 500

/** Throws `InvalidGraphError`, with the place in the text. */
export function checkCel(text: string): void {
  answerOf(text)
}

export function answerCel(text: string, { outputs, input, args, workflowId, node }: ConditionFacts): boolean {
  const asked = answerOf(text)
  const workflow = new Map([
    ['id', workflowId],
    ['node', node],
  ])
  let answer: unknown
  try {
    answer = asked({ outputs: celValue(outputs), input: celValue(input), args: celValue(args), workflow })
  } catch (error) {
    throw new InvalidGraphError(`The condition ${shown(text)} has no answer: ${reasonOf(error)}`)
  }
  if (typeof answer === 'boolean') return answer
  throw new InvalidGraphError(`The condition ${shown(text)} must come to true or false, not to a ${typeof answer}.`)
}

/** The names of the nodes whose outputs are asked for; `null` when that cannot be told from the text. */
export function outputsInCel(text: string): ReadonlySet<string> | null {
  const names = new Set<string>()
  const code = withoutTexts(text)
  for (const { index } of code.matchAll(/(?<![\w.])outputs\b/g)) {
    const rest = text.slice(index + 'outputs'.length)
    const field = /^\s*\.\s*([A-Za-z_]\w*)/.exec(rest) ?? /^\s*\[\s*(?:"([^"\\]*)"|'([^'\\]*)')\s*\]/.exec(rest)
    const name = field?.[1] ?? field?.[2]
    if (name === undefined) return null
    names.add(name)
  }
  return names
}

export function asksCelForArgs(text: string): boolean {
  return /(?<![\w.])args\b/.test(withoutTexts(text))
}

function answerOf(text: string): Answer {
  const found = known.get(text) ?? read(text)
  known.delete(text)
  known.set(text, found)
  const [oldest] = known.size > mostKnown ? known.keys() : []
  if (oldest !== undefined) known.delete(oldest)
  return found
}

function read(text: string): Answer {
  refuseEndless(text)
  try {
    const parsed = environment.parse(text)
    const { valid, type, error } = parsed.check()
    if (!valid) throw error
    if (type === 'dyn' && isArithmetic(parsed.ast)) throw new Error('it is a computation, and not true or false')
    if (type === 'bool' || type === 'dyn') return facts => parsed(facts)
    throw new Error(`it comes to a ${type}, and not to true or false`)
  } catch (error) {
    throw new InvalidGraphError(`The condition ${shown(text)} is not understood: ${reasonOf(error)}`)
  }
}

function refuseEndless(text: string): void {
  const code = withoutTexts(text)
  const regex = /\bmatches\s*\(/.exec(code)
  if (regex) throw refused(text, regex.index, 'matches could take for ever. Use contains, startsWith or endsWith')
  const loops: number[] = []
  let depth = 0
  for (const { 0: found, index } of code.matchAll(/\.\s*(?:all|exists|exists_one|map|filter)\s*\(|[([{]|[)\]}]/g)) {
    const isLoop = found.startsWith('.')
    if (isLoop && loops.length > 0) throw refused(text, index, 'a loop inside of a loop could take for ever')
    if (isLoop || '([{'.includes(found)) depth++
    else if (--depth < (loops.at(-1) ?? 0)) loops.pop()
    if (isLoop) loops.push(depth)
  }
}

/** The same with blanks for what stands in quotes, so that places stay what they are. */
function withoutTexts(text: string): string {
  return text.replace(
    /[rR](?:"""[\s\S]*?"""|'''[\s\S]*?'''|"[^"\n]*"|'[^'\n]*')|"""(?:\\[\s\S]|[^\\])*?"""|'''(?:\\[\s\S]|[^\\])*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/g,
    quoted => ' '.repeat(quoted.length),
  )
}

/** Integers are numbers of their own in CEL, and fields are looked up in maps, which inherit nothing. */
function celValue(value: unknown): unknown {
  if (value === undefined || value === null) return null
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value
  if (typeof value === 'bigint') return BigInt.asIntN(64, value) === value ? value : Number(value)
  if (typeof value !== 'object') return typeof value === 'function' || typeof value === 'symbol' ? null : value
  if (value instanceof Date || value instanceof Uint8Array) return value
  if (Array.isArray(value) || value instanceof Set) return Array.from(value, celValue)
  const entries = value instanceof Map ? [...value] : Object.entries(value)
  // A URL and the like have no fields of their own, and are read as texts.
  if (!(value instanceof Map) && entries.length === 0 && Object.getPrototypeOf(value) !== Object.prototype)
    return String(value)
  return new Map(entries.map(([key, part]) => [celValue(key), celValue(part)]))
}

function refused(text: string, at: number, what: string): InvalidGraphError {
  return new InvalidGraphError(`The condition ${shown(text)} is refused at character ${at + 1}: ${what}.`)
}

/** The message tells the place with a line of the text and a mark below. */
function reasonOf(error: unknown): string {
  return describeError(error).message.replace(/\.?$/, '.')
}

function shown(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text)
}
