/**
 * Conditions in CEL, the Common Expression Language: `outputs.aggregate.total > 100`. It sees `outputs` by the names of
 * nodes, `input`, `args`, and `workflow` with `id` and `node`. What a text could make take for ever is refused: see cel-guard.ts.
 */
import { type ASTNode, Environment } from '@marcbachmann/cel-js'
import { InvalidGraphError } from '../errors.ts'
import { describeError } from '../primitives/describe-error.ts'
import { refuseEndless } from './cel-guard.ts'
import { isArithmetic, registerMixedNumbers } from './cel-numbers.ts'
import { usesOf } from './cel-tree.ts'
import type { ConditionFacts } from './condition-facts.ts'

interface Reading {
  readonly ast: ASTNode
  readonly answer: (facts: Record<string, unknown>) => unknown
}

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
const known = new Map<string, Reading>()
const mostKnown = 500

/** Throws `InvalidGraphError`, with the place in the text. */
export function checkCel(text: string): void {
  readingOf(text)
}

export function answerCel(text: string, { outputs, input, args, workflowId, node }: ConditionFacts): boolean {
  const reading = readingOf(text)
  const workflow = new Map([
    ['id', workflowId],
    ['node', node],
  ])
  let answer: unknown
  try {
    answer = reading.answer({ outputs: celValue(outputs), input: celValue(input), args: celValue(args), workflow })
  } catch (error) {
    throw new InvalidGraphError(`The condition ${shown(text)} has no answer: ${reasonOf(error)}`)
  }
  if (typeof answer === 'boolean') return answer
  throw new InvalidGraphError(`The condition ${shown(text)} must come to true or false, not to a ${typeof answer}.`)
}

/** The names of the nodes whose outputs are asked for; `null` when that cannot be told from the text. */
export function outputsInCel(text: string): ReadonlySet<string> | null {
  const names = new Set<string>()
  for (const use of usesOf(readingOf(text).ast, 'outputs')) {
    const name = fieldOf(use)
    if (name === null) return null
    names.add(name)
  }
  return names
}

function fieldOf(use: ASTNode): string | null {
  if (use.op === '.') return use.args[1]
  if (use.op !== '[]') return null
  const [, key] = use.args
  return key.op === 'value' && typeof key.args === 'string' ? key.args : null
}

export function asksCelForArgs(text: string): boolean {
  return usesOf(readingOf(text).ast, 'args').length > 0
}

function readingOf(text: string): Reading {
  const found = known.get(text) ?? read(text)
  known.delete(text)
  known.set(text, found)
  const [oldest] = known.size > mostKnown ? known.keys() : []
  if (oldest !== undefined) known.delete(oldest)
  return found
}

function read(text: string): Reading {
  try {
    const parsed = environment.parse(text)
    refuseEndless(parsed.ast, (at, why) => {
      throw refused(text, at, why)
    })
    const { valid, type, error } = parsed.check()
    if (!valid) throw error
    if (type === 'dyn' && isArithmetic(parsed.ast)) throw new Error('it is a computation, and not true or false')
    if (type === 'bool' || type === 'dyn') return { ast: parsed.ast, answer: facts => parsed(facts) }
    throw new Error(`it comes to a ${type}, and not to true or false`)
  } catch (error) {
    if (error instanceof InvalidGraphError) throw error
    throw new InvalidGraphError(`The condition ${shown(text)} is not understood: ${reasonOf(error)}`)
  }
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
