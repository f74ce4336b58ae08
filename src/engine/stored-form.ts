/** How a graph rests beside its workflow. */
import { createHash } from 'node:crypto'
import type { FrozenGraph } from '../definition/frozen-graph.ts'
import type { Graph } from '../definition/graph.ts'
import type { StoredFrozenGraph } from '../store/store.ts'

/** What graphs are parsed to, where that is at hand. */
const parsedForms = new WeakMap<StoredFrozenGraph, Graph>()

export function parsedForm(stored: StoredFrozenGraph): Graph | null {
  return parsedForms.get(stored) ?? null
}

/** The mark covers every byte, arguments included, so that a process never takes one graph for another. */
export function storedForm(frozen: FrozenGraph): StoredFrozenGraph {
  return storedText(JSON.stringify(frozen))
}

/** The same of one that is written out already. `parsed`: what it is parsed to, where nobody can change that. */
export function storedText(graph: string, parsed: Graph | null = null): StoredFrozenGraph {
  const stored = { signature: createHash('sha256').update(graph).digest('hex'), graph }
  if (parsed !== null) parsedForms.set(stored, parsed)
  return stored
}
