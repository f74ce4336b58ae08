/** Which new node a node that is gone may have become: a guess for people, never acted upon. */
import type { Graph } from './graph.ts'
import { differenceBetween } from './graph-difference.ts'

/**
 * The only new node in the place in which the node stood, if nothing else that is gone stood there, too. `null` where it takes more
 * than that to tell: a bad guess would be copied.
 */
export function likelyRename(id: string, before: Graph, after: Graph): string | null {
  const { added, removed } = differenceBetween(before, after, after.renamed)
  const formerly = (each: string) => (removed.includes(each) ? '' : (after.renamed.get(each) ?? each))
  const place = placeOf(before, id, formerly)
  const gone = removed.filter(each => placeOf(before, each, formerly) === place)
  const come = added.filter(each => placeOf(after, each, parent => (added.includes(parent) ? '' : parent)) === place)
  return gone.length === 1 && gone[0] === id && come.length === 1 ? (come[0] ?? null) : null
}

/** Its kind and its neighbours; those that come or go themselves look alike. */
function placeOf(graph: Graph, id: string, nameOf: (id: string) => string): string {
  const node = graph.find(id)
  const after = graph.childrenOf(id).map(child => nameOf(child.id))
  return JSON.stringify([node?.kind, node?.dependsOn.map(nameOf).toSorted(), after.toSorted()])
}
