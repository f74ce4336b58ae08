/**
 * Graphs that are stored with workflows, parsed once and kept while there is room: a graph never changes under its
 * signature, so one that is here need not be read again.
 */
import { type FrozenGraph, graphOfFrozen } from '../definition/frozen-graph.ts'
import type { Graph } from '../definition/graph.ts'
import { InvariantError } from '../errors.ts'
import type { WorkflowRecord } from '../store/records.ts'
import type { Store, StoredFrozenGraph } from '../store/store.ts'
import { parsedForm } from './stored-form.ts'

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
  /** Being read: many steps of a workflow may begin at once, and its graph may be large. */
  readonly #coming = new Map<string, Promise<CachedGraph>>()
  #cost = 0

  constructor(store: Pick<Store, 'frozenGraphs'>) {
    this.#store = store
  }

  /** By workflow; reads together what is not here. */
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
    missing.forEach((workflow, index) => found.set(workflow.id, graphs[index] as CachedGraph))
    return found
  }

  /** One that is here. */
  find(workflow: WorkflowRecord): CachedGraph | null {
    const key = keyOf(workflow)
    const known = this.#graphs.get(key)
    if (known === undefined) return null
    this.#graphs.delete(key)
    this.#graphs.set(key, known)
    return known
  }

  /** Under its own signature: it may have been replaced since the workflow was looked at. */
  keep(id: string, type: string, stored: StoredFrozenGraph): CachedGraph {
    const cached = parsed(stored, type)
    const key = keyOf({ id, frozen: stored.signature })
    this.#drop(key)
    this.#graphs.set(key, cached)
    this.#cost += costOf(cached)
    for (const [oldest, graph] of this.#graphs) {
      if (this.#cost <= maxNodes || graph === cached) break
      this.#drop(oldest)
    }
    return cached
  }

  #read(workflows: readonly WorkflowRecord[]): void {
    if (workflows.length === 0) return
    const stored = this.#store.frozenGraphs(workflows.map(workflow => workflow.id))
    for (const workflow of workflows) {
      const kept = stored.then(rows => this.#found(workflow, rows.get(workflow.id)))
      this.#coming.set(
        keyOf(workflow),
        kept.finally(() => this.#coming.delete(keyOf(workflow))),
      )
    }
  }

  #found({ id, type }: WorkflowRecord, stored: StoredFrozenGraph | undefined): CachedGraph {
    if (stored === undefined) throw new InvariantError(`The graph of workflow ${id} is missing.`)
    return this.keep(id, type, stored)
  }

  #drop(key: string): void {
    const known = this.#graphs.get(key)
    if (known === undefined) return
    this.#graphs.delete(key)
    this.#cost -= costOf(known)
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
