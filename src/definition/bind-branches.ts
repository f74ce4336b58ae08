/**
 * What each node really depends on. Forks, conditions and their branches are turned into plain dependencies here, when all
 * nodes are known: to depend on a fork is to depend on its join, to depend on a condition is to depend on it and on the
 * ends of its branches, so that what follows also runs when nothing was taken. Takes time in proportion to the edges.
 */
import type { Guard, Join, JoinRule, NodeKind } from './graph.ts'

/** A node before that. Nodes are told apart by their ids. */
export interface FlowNode {
  readonly id: string
  readonly name: string
  readonly kind: NodeKind
  /** The branch that it stands in. */
  readonly scope: FlowScope | null
  /** What it names, or what comes before it in its chain. Nodes that share the list are bound together. */
  readonly named: readonly string[]
  /** Set exactly for joins. */
  readonly rule: JoinRule | null
  /** The fork whose branches it brings together. */
  readonly joins: string | null
}

/** A branch of the node that opens it. */
export interface FlowScope {
  readonly opener: string
  /** The name of a fork's branch; `then` or `else` for a condition. */
  readonly name: string
}

export interface Bound {
  readonly dependsOn: readonly string[]
  readonly guard?: Guard
  readonly join?: Join
}

/** What stands behind the id of a fork in that of its join, and behind its name. */
export const joinSuffix = '#join'

/** By id. `refuse` makes the error for a mistake in a node. */
export function bindBranches(
  nodes: readonly FlowNode[],
  refuse: (node: FlowNode, mistake: string) => Error,
): Map<string, Bound> {
  const binder = new Binder(nodes, refuse)
  return new Map(nodes.map(node => [node.id, binder.bind(node)]))
}

class Binder {
  readonly #refuse: (node: FlowNode, mistake: string) => Error
  readonly #byId: ReadonlyMap<string, FlowNode>
  /** The members of each branch in their order, without the joins of forks, which belong to the forks. */
  readonly #members = new Map<string, Map<string, FlowNode[]>>()
  readonly #joinOf = new Map<string, string>()
  readonly #followed = new Map<string, readonly string[]>()
  /** Of nodes in the same branch that name the same. */
  readonly #bound = new Map<FlowNode['named'], Map<string, Bound>>()

  constructor(nodes: readonly FlowNode[], refuse: (node: FlowNode, mistake: string) => Error) {
    this.#refuse = refuse
    this.#byId = new Map(nodes.map(node => [node.id, node]))
    for (const node of nodes) {
      if (node.joins !== null) this.#joinOf.set(node.joins, node.id)
      else if (node.scope !== null) this.#branch(node.scope).push(node)
    }
  }

  bind(node: FlowNode): Bound {
    if (node.joins !== null) return joinOf(node, this.#branchesOf(node.joins))
    if (node.rule !== null) return this.#join(node)
    const inScopes = this.#bound.get(node.named) ?? new Map<string, Bound>()
    this.#bound.set(node.named, inScopes)
    const key = node.scope === null ? '' : JSON.stringify([node.scope.opener, node.scope.name])
    const bound = inScopes.get(key) ?? this.#step(node)
    inScopes.set(key, bound)
    return bound
  }

  #step({ scope, named }: FlowNode): Bound {
    const isFirst = scope !== null && !named.some(id => this.#isInside(id, scope))
    const asked = this.#conditionAround(scope)
    // What comes from inside alone is left out with all of it; anything else would let the node run.
    const isGuarded = asked !== null && ((isFirst && asked === scope) || this.#reachesOut(named, asked) !== null)
    const openers = [...(isGuarded ? [asked.opener] : []), ...(isFirst ? [scope.opener] : [])]
    const isPlain = openers.length === 0 && this.#isPlain(named)
    const dependsOn = isPlain ? named : distinct([...openers, ...this.#parents(named, scope)])
    return isGuarded ? { dependsOn, guard: { condition: asked.opener, when: asked.name === 'then' } } : { dependsOn }
  }

  /** The innermost branch of a condition that a branch is, or stands in. */
  #conditionAround(branch: FlowScope | null): FlowScope | null {
    for (let scope = branch; scope !== null; scope = this.#scopeOf(scope.opener)) {
      if (this.#byId.get(scope.opener)?.kind === 'condition') return scope
    }
    return null
  }

  /** What is named that does not stand in the branch, nor opens it. */
  #reachesOut(named: readonly string[], branch: FlowScope): string | null {
    return named.find(id => id !== branch.opener && !this.#isInside(id, branch)) ?? null
  }

  /** One branch for each dependency. What stands in two branches would count twice. */
  #join(node: FlowNode): Bound {
    const { scope, named } = node
    if (scope !== null && !named.some(id => this.#isInside(id, scope))) {
      const branch = `branch ${scope.name} of ${this.#nameOf(scope.opener)}`
      throw this.#refuse(node, `it stands in ${branch}, yet waits for nothing in it. Declare it outside.`)
    }
    const asked = this.#conditionAround(scope)
    const outside = asked === null ? null : this.#reachesOut(named, asked)
    if (asked !== null && outside !== null) {
      const branch = `branch ${asked.name} of ${this.#nameOf(asked.opener)}`
      const remedy = 'Let a step of the branch depend on that, or declare it outside.'
      throw this.#refuse(node, `it stands in ${branch}, yet waits for ${this.#nameOf(outside)} outside. ${remedy}`)
    }
    if (typeof node.rule === 'object' && (node.rule?.atLeast ?? 0) > named.length) {
      throw this.#refuse(node, `it waits for ${node.rule?.atLeast} branches, but names only ${named.length}.`)
    }
    const seen = new Map<string, string>()
    const branches = named.map(id => this.#parents([id], scope))
    for (const [index, branch] of branches.entries()) {
      const name = this.#nameOf(named[index] ?? '')
      for (const end of branch) {
        const other = seen.get(end)
        if (other !== undefined) {
          throw this.#refuse(node, `${other} and ${name} meet in ${this.#nameOf(end)}, so they are not two branches.`)
        }
        seen.set(end, name)
      }
    }
    return joinOf(node, branches)
  }

  /** What nodes stand for as parents; for those in its own branches an opener stands for itself. */
  #parents(named: readonly string[], scope: FlowScope | null): readonly string[] {
    return named.flatMap(id => (this.#opens(scope, id) ? [id] : this.#follow(id)))
  }

  /** What a dependent of the node depends on. */
  #follow(id: string): readonly string[] {
    const known = this.#followed.get(id)
    if (known) return known
    const kind = this.#byId.get(id)?.kind
    const found =
      kind === 'condition'
        ? distinct([id, ...this.#branchesOf(id).flat()])
        : [(kind === 'fork' ? this.#joinOf.get(id) : undefined) ?? id]
    this.#followed.set(id, found)
    return found
  }

  /** The ends of each branch: what follows from the members that no other member depends on. */
  #branchesOf(opener: string): (readonly string[])[] {
    return [...(this.#members.get(opener)?.values() ?? [])].map(members => {
      const lists = new Set(members.map(member => member.named))
      const followed = new Set([...lists].flat())
      return distinct(members.filter(({ id }) => !followed.has(id)).flatMap(({ id }) => this.#follow(id)))
    })
  }

  #isPlain(named: readonly string[]): boolean {
    return named.every(id => {
      const kind = this.#byId.get(id)?.kind
      return kind !== 'fork' && kind !== 'condition'
    })
  }

  #branch({ opener, name }: FlowScope): FlowNode[] {
    const branches = this.#members.get(opener) ?? new Map<string, FlowNode[]>()
    this.#members.set(opener, branches)
    const members = branches.get(name) ?? []
    branches.set(name, members)
    return members
  }

  /** Whether a node stands in a branch, however deep. */
  #isInside(id: string, branch: FlowScope): boolean {
    for (let scope = this.#scopeOf(id); scope !== null; scope = this.#scopeOf(scope.opener)) {
      if (scope.opener === branch.opener && scope.name === branch.name) return true
    }
    return false
  }

  /** Whether a branch belongs to a node, or stands in one that does. */
  #opens(branch: FlowScope | null, id: string): boolean {
    for (let scope = branch; scope !== null; scope = this.#scopeOf(scope.opener)) {
      if (scope.opener === id) return true
    }
    return false
  }

  #scopeOf(id: string): FlowScope | null {
    return this.#byId.get(id)?.scope ?? null
  }

  #nameOf(id: string): string {
    return this.#byId.get(id)?.name ?? id
  }
}

function joinOf({ rule }: FlowNode, branches: readonly (readonly string[])[]): Bound {
  return { dependsOn: distinct(branches.flat()), join: { rule: rule ?? 'all', branches } }
}

function distinct(ids: readonly string[]): string[] {
  return [...new Set(ids)]
}
