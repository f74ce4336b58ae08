/**
 * Graphs that are stored with workflows, parsed once and kept while there is room: a graph never changes under its
 * signature, so one that is here need not be read again.
 */
import { type FrozenGraph, graphOfFrozen } from '../definition/frozen-graph.ts'
import type { Graph } from '../definition/graph.ts'
import type { WorkflowRecord } from '../store/records.ts'
import type { Store, StoredFrozenGraph } from '../store/store.ts'
import { parsedForm } from './stored-form.ts'

export interface CachedGraph {
  readonly graph: Graph
  readonly frozen: FrozenGraph
}

interface KeptGraph {
  /** A workflow may be given another graph. */
  readonly signature: string
  readonly cached: CachedGraph
}

/** About how many nodes are kept, over all graphs. */
const maxNodes = 300_000
/** A graph of one node takes room as well. */
const baseCost = 20

export class FrozenGraphCache {
  readonly #store: Pick<Store, 'frozenGraphs'>
  /** By workflow, in the order of their last use. */
  readonly #graphs = new Map<string, KeptGraph>()
  /** Being read: many steps of a workflow may begin at once, and its graph may be large. */
  readonly #coming = new Map<string, Promise<CachedGraph | null>>()
  /** Read, whether they are kept or not. */
  readonly #prepared = new WeakMap<StoredFrozenGraph, CachedGraph>()
  #cost = 0

  constructor(store: Pick<Store, 'frozenGraphs'>) {
    this.#store = store
  }

  /** By workflow; reads together what is not here. One that is gone from the database, and its graph with it, is left out. */
  async of(workflows: readonly WorkflowRecord[]): Promise<Map<string, CachedGraph>> {
    const found = new Map<string, CachedGraph>()
    const missing: WorkflowRecord[] = []
    for (const workflow of workflows) {
      const known = this.find(workflow)
      if (known) found.set(workflow.id, known)
      else missing.push(workflow)
    }
    if (missing.length === 0) return found
    this.#read(missing.filter(workflow => !this.#coming.has(keyOf(workflow))))
    const graphs = await Promise.all(missing.map(workflow => this.#coming.get(keyOf(workflow))))
    missing.forEach((workflow, index) => {
      const graph = graphs[index]
      if (graph) found.set(workflow.id, graph)
    })
    return found
  }

  /** One that is here. */
  find(workflow: WorkflowRecord): CachedGraph | null {
    const known = this.#graphs.get(workflow.id)
    if (known === undefined || known.signature !== workflow.frozen) return null
    this.#graphs.delete(workflow.id)
    this.#graphs.set(workflow.id, known)
    return known.cached
  }

  /** Reads one that is about to be kept, unless it was. */
  prepare(type: string, stored: StoredFrozenGraph): CachedGraph {
    const known = this.#prepared.get(stored)
    if (known?.graph.type === type) return known
    const cached = parsed(stored, type)
    this.#prepared.set(stored, cached)
    return cached
  }

  /** Under its own signature: it may have been replaced since the workflow was looked at. */
  keep(id: string, type: string, stored: StoredFrozenGraph): CachedGraph {
    const cached = this.prepare(type, stored)
    this.drop(id)
    this.#graphs.set(id, { signature: stored.signature, cached })
    this.#cost += costOf(cached)
    for (const [oldest, kept] of this.#graphs) {
      if (this.#cost <= maxNodes || kept.cached === cached) break
      this.drop(oldest)
    }
    return cached
  }

  /** Of a workflow that has ended: whoever asks for it after all reads it again. */
  drop(id: string): void {
    const known = this.#graphs.get(id)
    if (known === undefined) return
    this.#graphs.delete(id)
    this.#cost -= costOf(known.cached)
  }

  #read(workflows: readonly WorkflowRecord[]): void {
    if (workflows.length === 0) return
    const stored = this.#store.frozenGraphs(workflows.map(workflow => workflow.id))
    for (const workflow of workflows) {
      const kept = stored.then(rows => {
        const graph = rows.get(workflow.id)
        return graph === undefined ? null : this.keep(workflow.id, workflow.type, graph)
      })
      this.#coming.set(
        keyOf(workflow),
        kept.finally(() => this.#coming.delete(keyOf(workflow))),
      )
    }
  }
}

/** What is stored was checked before; queues and priorities stand in it. */
function parsed(stored: StoredFrozenGraph, type: string): CachedGraph {
  const frozen = JSON.parse(stored.graph) as FrozenGraph
  const known = parsedForm(stored)
  const make = () => graphOfFrozen(frozen, { type, queue: 'default', priority: 0, jobOptions: () => null })
  return { frozen, graph: known?.type === type ? known : make() }
}

function costOf({ graph }: CachedGraph): number {
  return graph.size + baseCost
}

function keyOf({ id, frozen }: Pick<WorkflowRecord, 'id' | 'frozen'>): string {
  return `${id} ${frozen}`
}
