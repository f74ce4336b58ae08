/** What a deploy has changed in a graph, node by node. */
import type { Graph } from './graph.ts'

export interface GraphDifference {
  readonly added: readonly string[]
  readonly removed: readonly string[]
  /** Nodes that are still there and depend on others than before. */
  readonly rewired: readonly string[]
  /** Nodes that are still there and are of another kind, or have another limit for their items. */
  readonly changed: readonly string[]
  readonly renamed: readonly { readonly from: string; readonly to: string }[]
}

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
  const former = new Map(before.nodes.map(node => [now(node.id), node.dependsOn.map(now)]))
  return {
    added: after.nodes.filter(node => !known.has(node.id)).map(node => node.id),
    removed: [...known].filter(id => after.find(id) === null),
    rewired: after.nodes
      .filter(node => known.has(node.id) && !sameMembers(former.get(node.id) ?? [], node.dependsOn))
      .map(node => node.id),
    changed: after.nodes
      .filter(node => {
        const was = before.nodes.find(each => now(each.id) === node.id)
        return was !== undefined && (was.kind !== node.kind || was.concurrency !== node.concurrency)
      })
      .map(node => node.id),
    renamed: applied.map(([from, to]) => ({ from, to })),
  }
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
  return parts.filter(part => part !== '').join('; ') || 'nothing changed'
}

function sameMembers(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every(member => b.includes(member))
}
