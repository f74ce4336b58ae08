/**
 * Which graph a workflow goes by. One that is stored with the workflow takes precedence; else the code of this process
 * says it, unless the workflow has moved on to newer code, which other processes have registered.
 */

import type { FrozenGraph } from '../definition/frozen-graph.ts'
import { Graph, type GraphData, type GraphNode } from '../definition/graph.ts'
import { jobPrefix } from '../definition/node-name.ts'
import type { Registry } from '../definition/registry.ts'
import type { WorkflowDefinition } from '../definition/workflow-definition.ts'
import { InvariantError, UnknownWorkflowError, WorkflowNotFoundError } from '../errors.ts'
import type { WorkflowRecord } from '../store/records.ts'
import type { Store, StoredFrozenGraph, StoredGraph } from '../store/store.ts'
import { isEnd } from './end-watch.ts'
import { type CachedGraph, FrozenGraphCache } from './frozen-graph-cache.ts'
import { hasCode, type Plan, timerHandler } from './plan.ts'

export interface Course {
  readonly graph: Graph
  readonly generation: number
  /** The graph that the workflow's rows were written by, where it is another one. */
  readonly previous: Graph | null
  /** The graphs that its class had before this one, newest first; empty where nothing could be undone in any of them. */
  readonly former: readonly Graph[]
  /** This process has the code for it, so it may run what follows. */
  readonly isOwn: boolean
  readonly heals: boolean
  /** The graph as it is stored with the workflow, with the arguments of its nodes. */
  readonly frozen: FrozenGraph | null
  /** What was known of the workflow when the course was chosen. */
  readonly workflow: WorkflowRecord
}

/** Nothing comes before it. */
const firstGeneration = 1

const nothing: readonly Graph[] = []

export class Courses {
  readonly #store: Store
  readonly #registry: Registry
  #generations: ReadonlyMap<string, number> = new Map()
  /** Graphs of classes as they were registered, by type and generation. They never change. */
  readonly #stored = new Map<string, Graph>()
  /** What came before a generation, by type and generation. */
  readonly #former = new Map<string, readonly Graph[]>()

  readonly #frozen: FrozenGraphCache
  #lastFrozen: Course | null = null
  readonly #definitions = new Map<string, WorkflowDefinition>()

  constructor(store: Store, registry: Registry) {
    this.#store = store
    this.#registry = registry
    this.#frozen = new FrozenGraphCache(store)
    for (const definition of registry.definitions) {
      for (const type of typesOf(definition)) if (!this.#definitions.has(type)) this.#definitions.set(type, definition)
    }
  }

  /** Makes the code of this process known. Each name has numbers of its own, so a former name keeps its own handler. */
  async register(): Promise<void> {
    const records = this.#registry.definitions.flatMap(definition =>
      typesOf(definition).map(type => ({
        type,
        signature: definition.signature,
        graph: JSON.stringify({ ...definition.graph.data, type }),
      })),
    )
    this.#generations = await this.#store.registerDefinitions(records)
  }

  generationOf(type: string): number {
    return this.#generations.get(type) ?? 0
  }

  findDefinition(type: string): WorkflowDefinition | null {
    return this.#definitions.get(type) ?? null
  }

  /** The other names that the class of a type has, or has had. */
  otherTypesOf(type: string): string[] {
    const definition = this.findDefinition(type)
    return definition === null ? [] : typesOf(definition).filter(other => other !== type)
  }

  /** Reads a graph that is about to be kept. */
  prepareFrozen(type: string, stored: StoredFrozenGraph): Graph {
    return this.#frozen.prepare(type, stored).graph
  }

  /** The graph of a workflow that begins in this process, so that it need not be read back. */
  keepFrozen({ id, type }: WorkflowRecord, stored: StoredFrozenGraph): void {
    this.#frozen.keep(id, type, stored)
  }

  /** The workflow has ended: a large graph is not worth the room any longer. */
  dropFrozen(id: string): void {
    this.#frozen.drop(id)
    if (this.#lastFrozen?.workflow.id === id) this.#lastFrozen = null
  }

  /**
   * For each workflow by its id. One whose stored graph is gone, as it is with a workflow that was pruned, is left out. Throws
   * `UnknownWorkflowError` for a type that no process has ever registered.
   */
  async of(workflows: readonly WorkflowRecord[]): Promise<Map<string, Course>> {
    const courses = new Map<string, Course>()
    const others: WorkflowRecord[] = []
    for (const workflow of workflows) {
      const known = this.known(workflow)
      if (known === null) others.push(workflow)
      else courses.set(workflow.id, known)
    }
    if (others.length === 0) return courses
    const frozen = await this.#frozen.of(others.filter(workflow => workflow.frozen !== null))
    for (const workflow of others) {
      const own = frozen.get(workflow.id)
      if (own !== undefined) courses.set(workflow.id, frozenCourse(workflow, own))
      else if (workflow.frozen === null) courses.set(workflow.id, await this.#courseOf(workflow))
    }
    return courses
  }

  /** Throws `WorkflowNotFoundError` for a workflow that is gone, or about to go with its graph, and `InvariantError` for one that has lost it. */
  async one(workflow: WorkflowRecord): Promise<Course> {
    const { id } = workflow
    const course = (await this.of([workflow])).get(id)
    if (course !== undefined) return course
    const now = (await this.#store.workflowStates([id])).get(id)
    throw now === undefined || isEnd(now.state) ? new WorkflowNotFoundError(id) : graphIsMissing(id)
  }

  /** Of a workflow that goes by the code of this process as it is now, or by a stored graph that is here; `null`: `of` has to look. */
  known(workflow: WorkflowRecord): Course | null {
    if (workflow.frozen !== null) return this.#knownFrozen(workflow)
    const definition = this.#definitions.get(workflow.type)
    const generation = this.generationOf(workflow.type)
    if (definition === undefined || workflow.generation !== generation) return null
    const { graph } = definition
    const former = generation <= firstGeneration ? nothing : this.#former.get(keyOf(workflow.type, generation))
    if (former === undefined) return null
    return { graph, generation, previous: null, former, isOwn: true, heals: workflow.crooked, frozen: null, workflow }
  }

  /** All steps of a large graph have the same workflow in their hands, so the last course is often the one. */
  #knownFrozen(workflow: WorkflowRecord): Course | null {
    if (this.#lastFrozen?.workflow === workflow) return this.#lastFrozen
    const cached = this.#frozen.find(workflow)
    if (cached === null) return null
    this.#lastFrozen = frozenCourse(workflow, cached)
    return this.#lastFrozen
  }

  /** The graph of a type: from the code of this process, if that is registered, else as other processes have registered it. */
  async graphOf(type: string): Promise<Graph> {
    const own = this.#generations.has(type) ? this.findDefinition(type) : null
    return own ? own.graph : (await this.#newest(type)).graph
  }

  async #courseOf(workflow: WorkflowRecord): Promise<Course> {
    const own = this.findDefinition(workflow.type)
    const generation = this.generationOf(workflow.type)
    const isOwn = own !== null && workflow.generation <= generation
    const current = isOwn ? { graph: own.graph, generation } : await this.#newest(workflow.type, workflow.generation)
    const changed = workflow.generation !== current.generation
    return {
      ...current,
      previous: changed ? await this.#storedGraph(workflow.type, workflow.generation) : null,
      former: await this.#formerGraphs(workflow.type, current.generation),
      isOwn,
      heals: changed || workflow.crooked,
      frozen: null,
      workflow,
    }
  }

  async #newest(type: string, atLeast = 0): Promise<{ graph: Graph; generation: number }> {
    const known = this.#stored.get(keyOf(type, atLeast))
    if (known) return { graph: known, generation: atLeast }
    const [newest] = await this.#load(type)
    if (newest === undefined) throw new UnknownWorkflowError(type)
    return { graph: this.#keep(type, newest), generation: newest.generation }
  }

  async #storedGraph(type: string, generation: number): Promise<Graph | null> {
    if (!this.#stored.has(keyOf(type, generation))) await this.#load(type)
    return this.#stored.get(keyOf(type, generation)) ?? null
  }

  /** Read once: nothing is ever added before a generation. */
  async #formerGraphs(type: string, generation: number): Promise<readonly Graph[]> {
    if (generation <= firstGeneration) return nothing
    const key = keyOf(type, generation)
    const known = this.#former.get(key)
    if (known) return known
    const stored = await this.#load(type)
    const earlier = stored.filter(graph => graph.generation < generation).map(graph => this.#keep(type, graph))
    const former = earlier.some(graph => graph.isSaga) ? earlier : nothing
    this.#former.set(key, former)
    return former
  }

  async #load(type: string): Promise<StoredGraph[]> {
    const stored = await this.#store.allGraphs([type])
    for (const graph of stored) this.#keep(type, graph)
    return stored
  }

  #keep(type: string, { graph, generation }: StoredGraph): Graph {
    const key = keyOf(type, generation)
    const parsed = this.#stored.get(key) ?? new Graph(JSON.parse(graph) as GraphData)
    this.#stored.set(key, parsed)
    return parsed
  }
}

/** A stored graph has no generations: whoever has the code of a node may run it. */
function frozenCourse(workflow: WorkflowRecord, { graph, frozen }: CachedGraph): Course {
  const { crooked: heals } = workflow
  return { graph, frozen, generation: 0, previous: null, former: nothing, isOwn: true, heals, workflow }
}

/** The plan of a decision, with the ids that it may use. */
export function planOf(course: Course, ids: Ids, heals: boolean = course.heals): Plan {
  return new CoursePlan(course, ids, heals)
}

interface Ids {
  take(): string
}

/** A class, because every step comes through here. */
class CoursePlan implements Plan {
  readonly graph: Graph
  readonly generation: number
  readonly heals: boolean
  readonly previous: Graph | null
  readonly former: readonly Graph[]
  readonly #type: string
  readonly #ids: Ids

  constructor({ graph, generation, previous, former, workflow }: Course, ids: Ids, heals: boolean) {
    this.graph = graph
    this.generation = generation
    this.heals = heals
    this.previous = previous
    this.former = former
    this.#type = workflow.type
    this.#ids = ids
  }

  get renamed(): Plan['renamed'] {
    return this.graph.renamed
  }

  handlerOf(node: GraphNode): string {
    return handlerOf(this.graph, node, this.#type)
  }

  takeId(): string {
    return this.#ids.take()
  }
}

/** Nobody can tell what a workflow should do whose row stands without its graph, so nobody is told that it was done. */
export function graphIsMissing(id: string): InvariantError {
  return new InvariantError(`The graph of workflow ${id} is missing. Put it back from a backup.`)
}

/** Whether a workflow is still as it was when its course was chosen. */
export function isOnCourse(course: Course, now: WorkflowRecord): boolean {
  const { generation, frozen, crooked, rounds } = course.workflow
  const sameRound = now.rounds === rounds || JSON.stringify(now.rounds) === JSON.stringify(rounds)
  return now.generation === generation && now.frozen === frozen && now.crooked === crooked && sameRound
}

/** A chain has none, unless it was another graph until now. */
export function mayHaveCounters({ graph, heals }: Course): boolean {
  return !graph.isChain || heals
}

/** The name of the code that runs a node: a job, a class, or none. Whoever can run a class can start it. */
export function handlerOf(graph: Graph, node: GraphNode, type: string): string {
  if (!hasCode(graph, node)) return timerHandler
  return node.job === undefined ? (node.workflow ?? type) : jobHandler(node.job)
}

/** Jobs have names of their own, beside those of classes. */
export function jobHandler(job: string): string {
  return `${jobPrefix}${job}`
}

/** The name of the job that a handler stands for; `null` for the handler of a class. */
export function jobOf(handler: string): string | null {
  return handler.startsWith(jobPrefix) ? handler.slice(jobPrefix.length) : null
}

/** The stored names of a class, present and former. */
export function typesOf(definition: WorkflowDefinition): string[] {
  return [definition.type, ...definition.formerTypes]
}

function keyOf(type: string, generation: number): string {
  return JSON.stringify([type, generation])
}
