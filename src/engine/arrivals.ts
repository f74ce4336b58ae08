/**
 * What this process has lately seen on the way to fan-ins: how many parents of each are still open, and which of them it has recorded itself.
 * Others count down as well, so the numbers are guesses: whoever goes by them has the database say that they were good enough.
 */
import type { Graph, GraphNode } from '../definition/graph.ts'
import type { Ending, LatestEnding, WorkflowChange } from '../store/change.ts'
import { noProgress } from '../store/records.ts'
import { latestFrom } from './draft-parts.ts'

/** Of one workflow, at one version of it. */
export interface Arrivals {
  readonly version: number
  /** Parents that are still open, by node, once all is written that is under way. */
  readonly open: ReadonlyMap<string, number>
  /** Nodes all of whose parents have begun together and none has ended, so that nobody has counted them yet. */
  readonly fresh: ReadonlySet<string>
  /** Nodes that have completed on the way to one of those. No attempt comes after one of these unless the workflow changes its version. */
  readonly ended: ReadonlyMap<string, LatestEnding>
}

/** What was decided, and the graph and the version by which the next report goes once it is written. */
export interface Decided {
  readonly change: WorkflowChange
  readonly graph: Graph
  readonly version: number
}

export const noArrivals: Arrivals = { version: 0, open: new Map(), fresh: new Set(), ended: new Map() }

/** Ends and counters, a quarter of a kilobyte each. What was counted least recently is forgotten first, and looked up if it is needed. */
const mostKept = 20_000
const mostWorkflows = 1000

class Kept implements Arrivals {
  readonly open = new Map<string, number>()
  readonly fresh = new Set<string>()
  readonly ended = new Map<string, LatestEnding>()
  readonly version: number
  /** Resolves when all that is under way has been written, or refused; `null` where nothing is. */
  writing: Promise<void> | null = null

  constructor(version: number) {
    this.version = version
  }

  get size(): number {
    return this.open.size + this.fresh.size + this.ended.size
  }

  get isOfUse(): boolean {
    return this.open.size + this.fresh.size > 0
  }

  /** How many are open now, as a change says it that may have been decided on before others. */
  count({ fanIns, insertions, replacements, endings }: WorkflowChange, graph: Graph): void {
    for (const { node, open } of fanIns.inserted) this.#atMost(node, open, 0)
    for (const { node, open, by } of fanIns.updated) this.#atMost(node, open, by)
    for (const { node } of fanIns.removed) this.#forget(node, graph)
    for (const rows of [insertions, replacements]) for (const { node } of rows) this.#forget(node, graph)
    for (const { execution } of endings) this.#forget(execution.node, graph)
    if (insertions.length > 1) this.#begin(new Set(insertions.map(row => row.node)), graph)
    if (!fanIns.cleared) return
    this.open.clear()
    this.fresh.clear()
  }

  /** Others may have been counted since this was decided on. */
  #atMost(node: string, open: number, by: number): void {
    this.fresh.delete(node)
    this.open.set(node, Math.min(open, (this.open.get(node) ?? open + by) - by))
  }

  /** It has begun, or was passed: nobody counts its parents any more. */
  #forget(node: string, graph: Graph): void {
    if (!this.fresh.delete(node) && !this.open.delete(node)) return
    for (const parent of graph.find(node)?.dependsOn ?? [])
      if (!this.#isOnTheWay(parent, graph)) this.ended.delete(parent)
  }

  #begin(begun: ReadonlySet<string>, graph: Graph): void {
    const behind = new Set<GraphNode>()
    for (const id of begun) for (const child of graph.childrenOf(id)) if (child.dependsOn.length > 1) behind.add(child)
    for (const { id, dependsOn } of behind) if (dependsOn.every(parent => begun.has(parent))) this.fresh.add(id)
  }

  arrive({ endings }: WorkflowChange, graph: Graph): void {
    if (this.open.size === 0) return
    for (const ending of endings) {
      const { node, kind } = ending.execution
      // One that has asked to be called again has completed as well, but nothing follows it.
      if (kind !== 'forward' || ending.state !== 'completed' || ending.outcome !== 'success') continue
      if (this.#isOnTheWay(node, graph)) this.ended.set(node, asParent(ending))
    }
  }

  #isOnTheWay(node: string, graph: Graph): boolean {
    return graph.childrenOf(node).some(child => this.open.has(child.id))
  }

  wait(writing: Promise<unknown>): void {
    const all = Promise.allSettled([this.writing, writing]).then(() => {
      if (this.writing === all) this.writing = null
    })
    this.writing = all
  }
}

interface Counted {
  readonly kept: Kept
  readonly one: Decided
}

export class RecentArrivals {
  readonly #kept = new Map<string, Kept>()
  #size = 0

  of(workflowId: string): Arrivals {
    return this.#kept.get(workflowId) ?? noArrivals
  }

  /** Resolves once all has been written, or refused, that was decided on this workflow without a look; `null` where nothing is under way. */
  settled(workflowId: string): Promise<void> | null {
    return this.#kept.get(workflowId)?.writing ?? null
  }

  /** Writes what was decided without a look. It is counted at once, so that whoever decides meanwhile goes by it, and forgotten if nothing was written. */
  async during<T>(decided: readonly Decided[], write: () => Promise<T | null>): Promise<T | null> {
    const counted = decided.flatMap(one => this.#count(one) ?? [])
    if (counted.length === 0) return write()
    const writing = this.#writeCounted(counted, write)
    for (const { kept } of counted) kept.wait(writing)
    return writing
  }

  async #writeCounted<T>(counted: readonly Counted[], write: () => Promise<T | null>): Promise<T | null> {
    let written: T | null = null
    try {
      written = await write()
    } finally {
      for (const { kept, one } of counted) {
        if (written === null) this.#forget(one.change.workflowId)
        else if (this.#kept.get(one.change.workflowId) === kept) this.#arrive(kept, one)
      }
    }
    return written
  }

  /** What was written after a look. */
  note(decided: Decided): void {
    const found = this.#count(decided)
    if (found !== null) this.#arrive(found.kept, decided)
  }

  #count(one: Decided): Counted | null {
    const { change, graph, version } = one
    const { inserted, updated } = change.fanIns
    const before = this.#kept.get(change.workflowId)
    if (before === undefined && inserted.length + updated.length === 0 && change.insertions.length < 2) return null
    this.#forget(change.workflowId)
    const kept = before?.version === version ? before : new Kept(version)
    kept.count(change, graph)
    if (!kept.isOfUse) return null
    // The last to be forgotten.
    this.#kept.set(change.workflowId, kept)
    this.#size += kept.size
    return { kept, one }
  }

  #arrive(kept: Kept, { change, graph }: Decided): void {
    this.#size -= kept.size
    kept.arrive(change, graph)
    this.#size += kept.size
    // One that is too large by itself takes nobody's place.
    if (kept.size > mostKept) this.#forget(change.workflowId)
    for (const [oldest] of this.#kept) {
      if (this.#size <= mostKept && this.#kept.size <= mostWorkflows) return
      this.#forget(oldest)
    }
  }

  #forget(workflowId: string): void {
    this.#size -= this.#kept.get(workflowId)?.size ?? 0
    this.#kept.delete(workflowId)
  }
}

/** Whoever comes after it goes by its id, its hash and its place. Its input and its own parents may be large. */
function asParent(ending: Ending): LatestEnding {
  const latest = latestFrom(ending)
  return { ...latest, progress: noProgress, input: null, ancestry: { hash: latest.ancestry.hash, parents: [] } }
}
