/**
 * Graphs that are stored with workflows, parsed once and kept while there is room: a graph never changes under its
 * signature, so one that is here need not be read again.
 */
import { type FrozenGraph, graphOfFrozen } from '../definition/frozen-graph.ts'
import type { Graph } from '../definition/graph.ts'
import { InvariantError } from '../errors.ts'
import type { WorkflowRecord } from '../store/records.ts'
import type { Store, StoredFrozenGraph } from '../store/store.ts'

export interface CachedGraph {
  readonly graph: Graph
  readonly frozen: FrozenGraph
}

/** About how many nodes are kept, over all graphs. */
const maxNodes = 300_000
/** A graph of one node takes room as well. */
const baseCost = 20

export class FrozenGraphCache {
  readonly #store: Pick<Store, 'frozenGraphs'>
  /** In the order of their last use. */
  readonly #graphs = new Map<string, CachedGraph>()
  #cost = 0

  constructor(store: Pick<Store, 'frozenGraphs'>) {
    this.#store = store
  }

  /** By workflow; reads together what is not here. */
  async of(workflows: readonly WorkflowRecord[]): Promise<Map<string, CachedGraph>> {
    const found = new Map<string, CachedGraph>()
    const missing: WorkflowRecord[] = []
    for (const workflow of workflows) {
      const known = this.#use(keyOf(workflow))
      if (known) found.set(workflow.id, known)
      else missing.push(workflow)
    }
    if (missing.length === 0) return found
    const stored = await this.#store.frozenGraphs(missing.map(workflow => workflow.id))
    for (const workflow of missing) {
      const row = stored.get(workflow.id)
      if (row === undefined) throw new InvariantError(`The graph of workflow ${workflow.id} is missing.`)
      found.set(workflow.id, this.#keep(workflow, row))
    }
    return found
  }

  #use(key: string): CachedGraph | undefined {
    const known = this.#graphs.get(key)
    if (known === undefined) return undefined
    this.#graphs.delete(key)
    this.#graphs.set(key, known)
    return known
  }

  /** What was stored was checked before; queues and priorities stand in it. */
  #keep(workflow: WorkflowRecord, { graph: text, signature }: StoredFrozenGraph): CachedGraph {
    const frozen = JSON.parse(text) as FrozenGraph
    const defaults = { type: workflow.type, queue: 'default', priority: 0, jobOptions: () => null }
    const cached = { frozen, graph: graphOfFrozen(frozen, defaults) }
    this.#graphs.set(keyOf({ ...workflow, frozen: signature }), cached)
    this.#cost += costOf(cached)
    for (const [key, oldest] of this.#graphs) {
      if (this.#cost <= maxNodes || oldest === cached) break
      this.#graphs.delete(key)
      this.#cost -= costOf(oldest)
    }
    return cached
  }
}

function costOf({ graph }: CachedGraph): number {
  return graph.size + baseCost
}

function keyOf({ id, frozen }: Pick<WorkflowRecord, 'id' | 'frozen'>): string {
  return `${id} ${frozen}`
}
