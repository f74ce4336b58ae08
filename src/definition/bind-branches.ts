/**
 * What each declared node really depends on. "The one before", forks, conditions and their branches are turned into plain
 * dependencies here, after all insertions: to depend on a fork is to depend on its join, to depend on a condition is to
 * depend on it and on the ends of its branches, so that what follows also runs when nothing was taken.
 */
import { DefinitionError } from '../errors.ts'
import type { Declarations } from './declarations.ts'
import type { Guard, Join } from './graph.ts'
import { joinSuffix } from './place.ts'
import type { BranchScope, Dependency, NodeDefinition } from './workflow-definition.ts'

export interface Bound {
  readonly dependsOn: readonly string[]
  readonly guard?: Guard
  readonly join?: Join
}

/** Throws `DefinitionError` for names and references that are unknown. */
export function bindBranches(declarations: Declarations): (node: NodeDefinition) => Bound {
  const binder = new Binder(declarations)
  return node => binder.bind(node)
}

class Binder {
  readonly #declarations: Declarations
  readonly #byName: ReadonlyMap<string, NodeDefinition>
  /** The members of each branch in their order, without the joins of forks, which belong to the forks. */
  readonly #members = new Map<string, Map<string, NodeDefinition[]>>()
  /** What a node names, or the member before it: nodes, not yet what follows from them. */
  readonly #named = new Map<string, readonly string[]>()
  readonly #followed = new Map<string, readonly string[]>()

  constructor(declarations: Declarations) {
    this.#declarations = declarations
    const nodes = declarations.nodes.map(({ definition }) => definition)
    this.#byName = new Map(nodes.map(node => [node.name, node]))
    const previous = new Map<string, string>()
    for (const node of nodes) {
      const chain = keyOf(node.scope)
      this.#named.set(node.name, this.#namesIn(node, previous.get(chain) ?? null))
      if (node.inChain) previous.set(chain, node.name)
      if (node.scope !== null && !isJoinOfFork(node)) this.#branchesOf(node.scope.opener, node.scope.name).push(node)
    }
  }

  bind(node: NodeDefinition): Bound {
    if (isJoinOfFork(node)) return this.#joinOfFork(node)
    const named = this.#named.get(node.name) ?? []
    const { scope } = node
    const first = scope !== null && !named.some(name => this.#isInside(name, scope))
    if (node.join) return this.#join(node, named, first)
    const dependsOn = distinct([
      ...(first ? [scope.opener] : []),
      ...named.flatMap(name => this.#parentsBy(name, node)),
    ])
    const isGuarded = first && this.#byName.get(scope.opener)?.kind === 'condition'
    return isGuarded ? { dependsOn, guard: { condition: scope.opener, when: scope.name === 'then' } } : { dependsOn }
  }

  #joinOfFork({ name, join }: NodeDefinition): Bound {
    const fork = name.slice(0, -joinSuffix.length)
    const branches = [...(this.#members.get(fork)?.values() ?? [])].map(members => this.#ends(members))
    return { dependsOn: distinct(branches.flat()), join: { rule: join?.rule ?? 'all', branches } }
  }

  /** One branch for each dependency. What stands in two branches would count twice. */
  #join(node: NodeDefinition, named: readonly string[], first: boolean): Bound {
    const where = `${this.#declarations.className}, join ${node.name}`
    if (first) {
      throw new DefinitionError(
        `${where}: it stands in branch ${node.scope?.name} of ${node.scope?.opener}, yet waits for nothing in it. Declare it outside.`,
      )
    }
    const branches = named.map(name => this.#parentsBy(name, node))
    const seen = new Map<string, string>()
    for (const [index, branch] of branches.entries()) {
      for (const end of branch) {
        const other = seen.get(end)
        if (other !== undefined) {
          throw new DefinitionError(
            `${where}: ${other} and ${named[index]} meet in ${end}, so they are not two branches.`,
          )
        }
        seen.set(end, named[index] ?? '')
      }
    }
    return { dependsOn: branches.flat(), join: { rule: node.join?.rule ?? 'all', branches } }
  }

  /** What a node stands for as a parent; for those in its own branches it stands for itself. */
  #parentsBy(name: string, child: NodeDefinition): readonly string[] {
    return this.#isWithin(child, name) ? [name] : this.#follow(name)
  }

  /** What a dependent of the node depends on. */
  #follow(name: string): readonly string[] {
    const known = this.#followed.get(name)
    if (known) return known
    const kind = this.#byName.get(name)?.kind
    const join = name + joinSuffix
    const ends = () => [...(this.#members.get(name)?.values() ?? [])].flatMap(members => this.#ends(members))
    const found =
      kind === 'condition' ? distinct([name, ...ends()]) : [kind === 'fork' && this.#byName.has(join) ? join : name]
    this.#followed.set(name, found)
    return found
  }

  /** What follows from the members that no other member of the branch depends on. */
  #ends(members: readonly NodeDefinition[]): string[] {
    const followed = new Set(members.flatMap(member => this.#named.get(member.name) ?? []))
    return distinct(members.filter(({ name }) => !followed.has(name)).flatMap(({ name }) => this.#follow(name)))
  }

  #namesIn(node: NodeDefinition, previous: string | null): readonly string[] {
    const { dependsOn, alsoDependsOn, inChain } = node
    const fromChain = inChain && dependsOn === null && previous !== null ? [previous] : []
    const named = [...(dependsOn ?? []), ...alsoDependsOn].map(dependency => this.#resolve(node, dependency))
    return distinct([...fromChain, ...named])
  }

  /** A reference must be one of this class or its parents: another class may have a node of the same name. */
  #resolve(node: NodeDefinition, dependency: Dependency): string {
    const { className, nodes } = this.#declarations
    const where = `${className}, step ${node.name}`
    const found = nodes.find(({ definition, ref }) =>
      typeof dependency === 'string' ? definition.name === dependency : ref === dependency,
    )
    if (!found) {
      const names = nodes.map(({ definition }) => definition.name).join(', ')
      const shown = typeof dependency === 'string' ? JSON.stringify(dependency) : 'a step of another class'
      throw new DefinitionError(`${where}: it depends on ${shown}, which is not declared. Declared are: ${names}.`)
    }
    if (found.definition.name === node.name) throw new DefinitionError(`${where}: it depends on itself.`)
    return found.definition.name
  }

  #branchesOf(opener: string, branch: string): NodeDefinition[] {
    const branches = this.#members.get(opener) ?? new Map<string, NodeDefinition[]>()
    this.#members.set(opener, branches)
    const members = branches.get(branch) ?? []
    branches.set(branch, members)
    return members
  }

  /** Whether a node stands in a branch, however deep. */
  #isInside(name: string, { opener, name: branch }: BranchScope): boolean {
    for (let scope = this.#scopeOf(name); scope !== null; scope = this.#scopeOf(scope.opener)) {
      if (scope.opener === opener && scope.name === branch) return true
    }
    return false
  }

  /** Whether a node stands in any branch that another one opens. */
  #isWithin(node: NodeDefinition, opener: string): boolean {
    for (let { scope } = node; scope !== null; scope = this.#scopeOf(scope.opener)) {
      if (scope.opener === opener) return true
    }
    return false
  }

  #scopeOf(name: string): BranchScope | null {
    return this.#byName.get(name)?.scope ?? null
  }
}

function isJoinOfFork({ kind, join }: NodeDefinition): boolean {
  return kind === 'join' && join?.branches === null
}

function keyOf(scope: BranchScope | null): string {
  return scope === null ? '' : JSON.stringify([scope.opener, scope.name])
}

function distinct(names: readonly string[]): string[] {
  return [...new Set(names)]
}
