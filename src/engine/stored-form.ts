/** How a graph rests beside its workflow. */
import { createHash } from 'node:crypto'
import type { FrozenGraph } from '../definition/frozen-graph.ts'
import type { StoredFrozenGraph } from '../store/store.ts'

/** The mark covers every byte, arguments included, so that a process never takes one graph for another. */
export function storedForm(frozen: FrozenGraph): StoredFrozenGraph {
  const graph = JSON.stringify(frozen)
  return { signature: createHash('sha256').update(graph).digest('hex'), graph }
}
