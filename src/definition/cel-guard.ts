/**
 * Which CEL expressions are refused, though CEL has them, because a short text could make them take for ever or use up all
 * memory: regular expressions, loops inside of loops, and what multiplies a value again and again. It is decided on the parsed
 * tree. What is left may be slow for large values, but a longer text does not multiply what it takes.
 */
import type { ASTNode } from '@marcbachmann/cel-js'
import { type Loop, loopAt, partsOf } from './cel-tree.ts'

/** Throws. `at` is the place in the text, from 0. */
type Refuse = (at: number, why: string) => never

const refusedCalls: Readonly<Record<string, string>> = {
  matches: 'matches could take for ever. Use contains, startsWith or endsWith',
  bind: 'bind could use up all memory. Write the value where it is used',
}

/**
 * How large a value can be, in multiples of all that the condition is given. What a text holds itself is next to nothing,
 * and not nothing, so that doubling it again and again is noticed as well.
 */
const largest = 100
const given = 1
const small = 0.01

const smallResults: ReadonlySet<string> = new Set(
  '== != < <= > >= in && || !_ - * / % -_ has size contains startsWith endsWith indexOf lastIndexOf'.split(' '),
)
const growing: Readonly<Record<string, number>> = { bytes: 3, hex: 2, base64: 2 }

/** Calls `refuse` for the first thing that could be endless. */
export function refuseEndless(ast: ASTNode, refuse: Refuse): void {
  new Scales(refuse).weigh(ast, null)
}

/** The variable of the loop around, and how large it can be. */
type Variable = { readonly name: string; readonly weight: number } | null

class Scales {
  readonly #refuse: Refuse

  constructor(refuse: Refuse) {
    this.#refuse = refuse
  }

  weigh(node: ASTNode, variable: Variable): number {
    const loop = loopAt(node)
    const weight = loop === null ? this.#weight(node, variable) : this.#loop(loop, node, variable)
    if (weight <= largest) return weight
    return this.#refuse(node.start, 'what is computed here could become far larger than what it is computed from')
  }

  #weight(node: ASTNode, variable: Variable): number {
    if (node.op === 'value') return small
    if (node.op === 'id') return node.args === variable?.name ? variable.weight : given
    if (node.op === 'call' || node.op === 'rcall') return this.#call(node, variable)
    const weight = this.#sum(node, variable)
    return smallResults.has(node.op) ? small : weight
  }

  #sum(node: ASTNode, variable: Variable): number {
    return partsOf(node).reduce((sum, part) => sum + this.weigh(part, variable), small)
  }

  #call(node: ASTNode & { op: 'call' | 'rcall' }, variable: Variable): number {
    const [name] = node.args
    if (Object.hasOwn(refusedCalls, name)) return this.#refuse(nameAt(node), refusedCalls[name] ?? '')
    const weight = this.#sum(node, variable)
    if (smallResults.has(name)) return small
    if (name === 'join') return weight * separatorOf(node)
    return weight * (Object.hasOwn(growing, name) ? (growing[name] ?? 1) : 1)
  }

  /** One element of the list is at most as large as all of it, and all results together as if that element were the only one. */
  #loop({ name, list, variable, bodies }: Loop, node: ASTNode, around: Variable): number {
    if (around !== null) return this.#refuse(nameAt(node), 'a loop inside of a loop could take for ever')
    const weight = this.weigh(list, null)
    const weights = bodies.map(body => this.weigh(body, { name: variable, weight }))
    if (name === 'map') return (weights.at(-1) ?? small) * (usesOthers(bodies.at(-1), variable) ? weight * repeated : 1)
    return name === 'filter' ? weight : small
  }
}

/** What is made of other values than its element is made as often as there are elements. It may be so once, and not again and again. */
const repeated = 11

function usesOthers(node: ASTNode | undefined, variable: string): boolean {
  if (node === undefined || node.op === 'id') return node !== undefined && node.args !== variable
  return partsOf(node).some(part => usesOthers(part, variable))
}

/** How many times as large as its list a joined text can be: a separator that is computed may be as large as anything. */
function separatorOf(node: ASTNode): number {
  const separator = partsOf(node)[1]
  if (separator === undefined) return 1
  return separator.op === 'value' ? String(separator.args).length + 1 : largest
}

/** A call begins where what it is called on begins; its name stands behind that. */
function nameAt(node: ASTNode): number {
  if (node.op !== 'rcall') return node.start
  const [name, receiver] = node.args
  return node.input.indexOf(name, receiver.end)
}
