/** The parsed tree of a CEL expression: what its nodes are made of, which of them are loops, and where a variable is used. */
import type { ASTNode } from '@marcbachmann/cel-js'

/** The operands of a node, in the order of the text. */
export function partsOf(node: ASTNode): readonly ASTNode[] {
  switch (node.op) {
    case 'value':
    case 'id':
      return []
    case '.':
    case '.?':
      return [node.args[0]]
    case 'call':
      return node.args[1]
    case 'rcall':
      return [node.args[1], ...node.args[2]]
    case 'map':
      return node.args.flat()
    case '!_':
    case '-_':
      return [node.args]
    default:
      return node.args
  }
}

/** A macro that goes through a list: `list.map(variable, ...bodies)`. */
export interface Loop {
  readonly name: string
  readonly list: ASTNode
  readonly variable: string
  readonly bodies: readonly ASTNode[]
}

const loops: ReadonlySet<string> = new Set(['all', 'exists', 'exists_one', 'map', 'filter'])

export function loopAt(node: ASTNode): Loop | null {
  if (node.op !== 'rcall' || !loops.has(node.args[0])) return null
  const [name, list, [variable, ...bodies]] = node.args
  return variable?.op === 'id' ? { name, list, variable: variable.args, bodies } : null
}

/**
 * Where the variable of that name is used, each time with what is looked up in it: the nodes `name.field` and `name[key]`,
 * or `name` itself where it is used as a whole. A loop may have a variable of the same name, which is another one.
 */
export function usesOf(node: ASTNode, name: string): ASTNode[] {
  if (node.op === 'id') return node.args === name ? [node] : []
  const loop = loopAt(node)
  if (loop !== null) {
    const inside = loop.variable === name ? [] : loop.bodies
    return [loop.list, ...inside].flatMap(part => usesOf(part, name))
  }
  const [first, ...rest] = partsOf(node)
  if (first === undefined) return []
  const isLookUp = (node.op === '.' || node.op === '[]') && first.op === 'id' && first.args === name
  return [...(isLookUp ? [node] : usesOf(first, name)), ...rest.flatMap(part => usesOf(part, name))]
}
