/** What a deploy has changed in a graph, node by node. */
import type { Graph, GraphNode } from './graph.ts'

export interface GraphDifference {
  readonly added: readonly string[]
  readonly removed: readonly string[]
  /** Nodes that are still there and depend on others than before, or in another way: as another branch, or on another answer. */
  readonly rewired: readonly string[]
  /** Nodes that are still there and are of another kind, or have another limit for their items, rule to go on, expression or class to start. */
  readonly changed: readonly string[]
  readonly renamed: readonly { readonly from: string; readonly to: string }[]
}

/** How two graphs that are the same are told apart. */
export const nothingChanged = 'nothing changed'

/** `renamed` maps former names to present ones; it counts only where the former graph has the one and not the other. */
export function differenceBetween(
  before: Graph,
  after: Graph,
  renamed: ReadonlyMap<string, string> = new Map(),
): GraphDifference {
  const applied = [...renamed].filter(([from, to]) => before.find(from) && !before.find(to) && after.find(to))
  const nameNow = new Map(applied)
  const now = (id: string) => nameNow.get(id) ?? id
  const known = new Set(before.nodes.map(node => now(node.id)))
  const former = new Map(before.nodes.map(node => [now(node.id), node]))
  const still = (differs: (was: GraphNode, node: GraphNode) => boolean) =>
    after.nodes
      .filter(node => {
        const was = former.get(node.id)
        return was !== undefined && differs(was, node)
      })
      .map(node => node.id)
  return {
    added: after.nodes.filter(node => !known.has(node.id)).map(node => node.id),
    removed: [...known].filter(id => after.find(id) === null),
    rewired: still((was, node) => isRewired(was, node, now)),
    changed: still(isChanged),
    renamed: applied.map(([from, to]) => ({ from, to })),
  }
}

function isRewired(was: GraphNode, node: GraphNode, now: (id: string) => string): boolean {
  if (!sameMembers(was.dependsOn.map(now), node.dependsOn)) return true
  if ((was.guard && now(was.guard.condition)) !== node.guard?.condition || was.guard?.when !== node.guard?.when)
    return true
  return branchesOf(was, now) !== branchesOf(node, id => id)
}

/** The branches of a join as text, the same in whatever order they are told. */
function branchesOf({ join }: GraphNode, now: (id: string) => string): string {
  const branches = join?.branches.map(branch => JSON.stringify(branch.map(now).toSorted())) ?? []
  return branches.toSorted().join()
}

function isChanged(was: GraphNode, node: GraphNode): boolean {
  return (
    was.kind !== node.kind ||
    was.concurrency !== node.concurrency ||
    was.test !== node.test ||
    was.workflow !== node.workflow ||
    JSON.stringify(was.join?.rule) !== JSON.stringify(node.join?.rule)
  )
}

/** A line for people: `added audit; removed report; renamed pay (was charge); rewired ship`. */
export function describeDifference({ added, removed, rewired, changed, renamed }: GraphDifference): string {
  const parts = [
    added.length > 0 ? `added ${added.join(', ')}` : '',
    removed.length > 0 ? `removed ${removed.join(', ')}` : '',
    renamed.length > 0 ? `renamed ${renamed.map(({ from, to }) => `${to} (was ${from})`).join(', ')}` : '',
    rewired.length > 0 ? `rewired ${rewired.join(', ')}` : '',
    changed.length > 0 ? `changed ${changed.join(', ')}` : '',
  ]
  return parts.filter(part => part !== '').join('; ') || nothingChanged
}

function sameMembers(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every(member => b.includes(member))
}
