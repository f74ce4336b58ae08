/**
 * Moves workflows on: brings the store's facts and the pure decisions together. It holds no state of its own but the
 * code it knows, so any number of engines may work on one database.
 */
import { findNode, type Graph, graphOf, movedBack } from '../definition/graph.ts'
import type { Registry } from '../definition/registry.ts'
import type { WorkflowDefinition } from '../definition/workflow-definition.ts'
import { UnknownWorkflowError, WorkflowNotFoundError } from '../errors.ts'
import type { WorkflowChange, WorkflowFacts } from '../store/change.ts'
import type { ActiveExecution } from '../store/records.ts'
import type { Store, StoredGraph } from '../store/store.ts'
import type { Request } from './change-draft.ts'
import { decideStopTimer, decideTakeover } from './decide-recovery.ts'
import { decideCancel, decidePause, decideResume, decideSkip } from './decide-request.ts'
import { EndWatch } from './end-watch.ts'
import type { Plan } from './schedule.ts'

/** A graph with the number that its newest code has. */
export interface NumberedGraph {
  readonly graph: Graph
  readonly generation: number
  readonly movedBack: ReadonlySet<string>
}

export class Engine {
  readonly store: Store
  readonly registry: Registry
  /** Tells whoever waits in this process that a workflow has ended. */
  readonly ends = new EndWatch()
  #generations: ReadonlyMap<string, number> = new Map()
  readonly #graphs = new Map<WorkflowDefinition, NumberedGraph>()

  constructor(store: Store, registry: Registry) {
    this.store = store
    this.registry = registry
  }

  /** Makes the code of this process known. Must be called before anything else. */
  async register(): Promise<void> {
    const records = this.registry.definitions.flatMap(definition => {
      const graph = graphOf(definition)
      // Each name has its own numbers, so a former name keeps its own handler.
      return typesOf(definition).map(type => ({
        type,
        signature: definition.signature,
        graph: JSON.stringify({ ...graph, type }),
      }))
    })
    this.#generations = await this.store.registerDefinitions(records)
    const stored = (await this.store.allGraphs(records.map(record => record.type))).map(parseGraph)
    for (const definition of this.registry.definitions) {
      const graph = graphOf(definition)
      const others = stored.filter(other => typesOf(definition).includes(other.type))
      const generation = this.generationOf(definition.type)
      this.#graphs.set(definition, { graph, generation, movedBack: movedBack(graph, others) })
    }
  }

  generationOf(type: string): number {
    return this.#generations.get(type) ?? 0
  }

  /** The graph of a type: from the code of this process, else as other processes have registered it. */
  async graphFor(type: string): Promise<NumberedGraph> {
    const definition = this.findDefinition(type)
    const own = definition && this.#graphs.get(definition)
    if (own) return own
    const stored = await this.store.allGraphs([type])
    const newest = newestOf(stored)
    if (newest === null) throw new UnknownWorkflowError(type)
    return newest
  }

  findDefinition(type: string): WorkflowDefinition | null {
    return this.registry.definitions.find(definition => typesOf(definition).includes(type)) ?? null
  }

  async pause(id: string, request: Request): Promise<void> {
    await this.#changeOne(id, facts => decidePause(facts, request))
  }

  async resume(id: string, request: Request): Promise<void> {
    await this.#changeOne(id, (facts, plan) => decideResume(facts, request, plan))
  }

  async cancel(id: string, request: Request): Promise<void> {
    await this.#changeOne(id, (facts, plan) => decideCancel(facts, request, plan))
  }

  async skip(id: string, node: string, request: Request): Promise<void> {
    await this.#changeOne(id, (facts, plan) => decideSkip(facts, node, request, plan))
  }

  /** Takes over what dead workers have left, up to `limit` rows. Tells how many were found. */
  async recover(limit: number): Promise<number> {
    const rows = await this.store.findAbandoned(this.registry.definitions.flatMap(typesOf), limit)
    await this.takeOver(rows)
    return rows.length
  }

  /** Ends attempts that nobody will report on, and begins the next ones. A row that cannot be taken over stops no other. */
  async takeOver(rows: readonly ActiveExecution[]): Promise<void> {
    // A workflow can have left a step and a timer; one change at a time.
    const steps = rows.filter(row => row.kind === 'forward')
    const timers = rows.filter(row => row.kind === 'timer')
    const failures = [...(await this.#takeOverEach(steps)), ...(await this.#takeOverEach(timers))]
    if (failures.length > 0)
      throw new AggregateError(failures, `${failures.length} abandoned steps were not taken over.`)
  }

  /** In one transaction; if the database will never take that, in halves, until the culprit stands alone. */
  async #takeOverEach(rows: readonly ActiveExecution[]): Promise<unknown[]> {
    if (rows.length === 0) return []
    try {
      await this.#takeOverTogether(rows)
      return []
    } catch (error) {
      if (rows.length === 1 || !this.store.isLasting(error)) return [error]
      const middle = Math.ceil(rows.length / 2)
      return [...(await this.#takeOverEach(rows.slice(0, middle))), ...(await this.#takeOverEach(rows.slice(middle)))]
    }
  }

  /** A timer has fallen due and was claimed. */
  async fireTimer(timer: ActiveExecution): Promise<void> {
    const changes = await this.store.change([{ workflowId: timer.workflowId, lockRows: true }], facts =>
      holds(facts, timer) ? decideStopTimer(facts) : null,
    )
    this.ends.noteAll(changes)
  }

  async #takeOverTogether(rows: readonly ActiveExecution[]): Promise<void> {
    const ids = await this.store.takeIds(rows.length)
    const found = new Map(rows.map((row, index) => [row.workflowId, { row, nextId: ids[index] ?? '' }]))
    const planners = new Map<string, (facts: WorkflowFacts) => Plan>()
    for (const handler of new Set(rows.map(row => row.handler))) planners.set(handler, await this.#plans(handler))
    // A worker may be alive after all, and write checkpoints: the row as it is now counts, and is kept from changing.
    const targets = rows.map(({ workflowId }) => ({ workflowId, lockRows: true }))
    const changes = await this.store.change(targets, facts => {
      const { row, nextId } = found.get(facts.workflow.id) ?? {}
      const plan = row && planners.get(row.handler)?.(facts)
      const current = facts.active.find(active => active.id === row?.id)
      if (!row || !current || !plan || nextId === undefined || !holds(facts, row)) return null
      return decideTakeover(facts, current, { ...plan, nextId })
    })
    this.ends.noteAll(changes)
  }

  async #changeOne(id: string, decide: (facts: WorkflowFacts, plan: Plan) => WorkflowChange | null): Promise<void> {
    const found = this.store.isId(id) ? await this.store.findWorkflow(id) : null
    if (found === null) throw new WorkflowNotFoundError(id)
    const planFor = await this.#plans(found.workflow.type)
    let seen = false
    let asked: WorkflowChange | null = null
    const changes = await this.store.change([{ workflowId: id, withLatest: true, withPassed: true }], facts => {
      seen = true
      try {
        asked = decide(facts, planFor(facts))
        return asked
      } catch (error) {
        // A try before this one may have been committed without its answer: then it is as it was asked for.
        if (asked?.state?.to === facts.workflow.state) return null
        throw error
      }
    })
    if (!seen) throw new WorkflowNotFoundError(id)
    this.ends.noteAll(changes)
  }

  /** This process plans by its own code, unless the workflow has moved on to newer code, which its rows show. */
  async #plans(type: string): Promise<(facts: WorkflowFacts) => Plan> {
    const [own, stored, ids] = await Promise.all([
      this.graphFor(type),
      this.store.allGraphs([type]),
      this.store.takeIds(2),
    ])
    const fixed = { others: stored.map(parseGraph), nextId: ids[0] ?? '', skippedId: ids[1] ?? '', runOn: null }
    const newest = newestOf(stored) ?? own
    return facts => ({ ...fixed, ...(this.#isAhead(facts, own, newest) ? newest : own) })
  }

  #isAhead({ active, latest }: WorkflowFacts, own: NumberedGraph, newest: NumberedGraph): boolean {
    const row = active.find(candidate => candidate.kind === 'forward')
    if (row) return row.generation > this.generationOf(row.handler)
    return latest !== null && !findNode(own.graph, latest.node) && findNode(newest.graph, latest.node) !== null
  }
}

function parseGraph({ graph }: StoredGraph): Graph {
  return JSON.parse(graph) as Graph
}

/** Of graphs that come newest first. */
function newestOf(stored: readonly StoredGraph[]): NumberedGraph | null {
  const [newest] = stored
  if (newest === undefined) return null
  const graph = parseGraph(newest)
  return { graph, generation: newest.generation, movedBack: movedBack(graph, stored.map(parseGraph)) }
}

/** The stored names of a class, present and former. */
export function typesOf(definition: WorkflowDefinition): string[] {
  return [definition.type, ...definition.formerTypes]
}

/** The row is still what it was when it was found: same attempt, same claim. */
export function holds(facts: WorkflowFacts, row: ActiveExecution): boolean {
  return facts.active.some(
    active =>
      active.id === row.id &&
      active.state === 'in_progress' &&
      active.fence === row.fence &&
      active.owner === row.owner,
  )
}
