/**
 * Where a verb puts its node: the chain of the class, or a branch of a fork or a condition, which is a chain of its own.
 * A node that opens branches stands right before everything in them, so that it can be moved past as one thing.
 */
import { DefinitionError } from '../errors.ts'
import { joinSuffix } from './bind-branches.ts'
import { type Declarations, type DeclaringClass, openDeclarations } from './declarations.ts'
import { mistakeInNodeName } from './node-name.ts'
import type { BranchScope } from './workflow-definition.ts'

export interface Place {
  readonly declarations: Declarations
  /** The branch that a node of that name comes to stand in; `null`: the chain of the class. */
  scopeOf(node: string): BranchScope | null
}

/** The chain of a class. Throws `DefinitionError` on a class that takes no more declarations. */
export function chainOf(workflowClass: DeclaringClass): Place {
  return { declarations: openDeclarations(workflowClass), scopeOf: () => null }
}

export function freeName({ declarations }: Place, name: unknown, longest?: number): string {
  const mistake = mistakeInNodeName(name, longest)
  if (mistake !== null) {
    const shown = typeof name === 'string' ? JSON.stringify(name.slice(0, 60)) : `(${typeof name})`
    throw new DefinitionError(`${declarations.className}, step ${shown}: ${mistake}. Choose another name.`)
  }
  if (declarations.nodes.some(node => node.definition.name === name)) {
    throw new DefinitionError(
      `${declarations.className}, step ${name}: there is a step of that name already, here or in a parent class. Override the method to change what an inherited step does.`,
    )
  }
  return name as string
}

/** The index for a new node of the branch. Positions name nodes of the same branch, because a chain cannot leave its own. */
export function positionIn(
  declarations: Declarations,
  scope: BranchScope | null,
  { beforeStep, afterStep }: { readonly beforeStep?: unknown; readonly afterStep?: unknown },
  where: string,
): number {
  if (beforeStep !== undefined && afterStep !== undefined) {
    throw new DefinitionError(`${where}: it has both \`beforeStep\` and \`afterStep\`. Use one.`)
  }
  if (beforeStep !== undefined) return indexOfNode(declarations, scope, beforeStep, `${where}: beforeStep`)
  if (afterStep !== undefined)
    return endOfUnit(declarations, indexOfNode(declarations, scope, afterStep, `${where}: afterStep`))
  return scope === null ? declarations.nodes.length : behind(declarations, scope.opener)
}

/** The index behind a declared node and all that stands in its branches. */
export function behind(declarations: Declarations, name: string): number {
  return endOfUnit(
    declarations,
    declarations.nodes.findIndex(node => node.definition.name === name),
  )
}

function endOfUnit({ nodes }: Declarations, index: number): number {
  const inside = new Set([nodes[index]?.definition.name])
  let end = index + 1
  for (let node = nodes[end]?.definition; node; node = nodes[++end]?.definition) {
    const isJoin = node.name.endsWith(joinSuffix) && inside.has(node.name.slice(0, -joinSuffix.length))
    if (!isJoin && !inside.has(node.scope?.opener)) break
    inside.add(node.name)
  }
  return end
}

/** A reference must be one of this class or its parents: another class may have a node of the same name. */
function indexOfNode(declarations: Declarations, scope: BranchScope | null, target: unknown, where: string): number {
  const byName = typeof target === 'string'
  const index = declarations.nodes.findIndex(node => (byName ? node.definition.name === target : node.ref === target))
  const found = declarations.nodes[index]?.definition
  if (!found) {
    const names = declarations.nodes.map(node => node.definition.name).join(', ') || 'none'
    const shown = byName ? JSON.stringify(target) : 'a step of another class'
    throw new DefinitionError(`${where} names ${shown}, which is not declared so far. Declared are: ${names}.`)
  }
  const shown = JSON.stringify(found.name)
  if (!found.inChain) throw new DefinitionError(`${where} names ${shown}, a task, which has no place in the chain.`)
  if (!sameScope(found.scope, scope)) {
    throw new DefinitionError(
      `${where} names ${shown}, which stands ${scopeShown(found.scope)}, not ${scopeShown(scope)}.`,
    )
  }
  return index
}

function sameScope(a: BranchScope | null, b: BranchScope | null): boolean {
  return a?.opener === b?.opener && a?.name === b?.name
}

function scopeShown(scope: BranchScope | null): string {
  return scope === null ? 'in the chain of the class' : `in branch ${scope.name} of ${scope.opener}`
}
