/**
 * From a graph that was built at run time, or frozen before, to what the store is asked for. The graph is stored with the
 * workflow and counts from then on.
 */
import type { BuiltGraph } from '../definition/built-graph.ts'
import { type FrozenGraph, type FrozenNode, type FrozenNodes, graphOfFrozen } from '../definition/frozen-graph.ts'
import type { GraphNode } from '../definition/graph.ts'
import { identifyAnyHero } from '../definition/identify-hero.ts'
import type { JobRegistry } from '../definition/job-registry.ts'
import type { Registry } from '../definition/registry.ts'
import { InvalidArgumentError } from '../errors.ts'
import { canonicalValue, encodeValue } from '../primitives/json-codec.ts'
import type { StartOrder } from '../store/store.ts'
import { handlerOf } from './courses.ts'
import type { Engine } from './engine.ts'
import {
  idsFor,
  type Prepared,
  prepareOptions,
  refuseUnknownStart,
  type StartOptions,
  startOrder,
} from './start-orders.ts'
import { storedForm, storedText } from './stored-form.ts'

/** Workflows without a class have no name of one. */
export const noType = ''

/** What a workflow without a class is started with: a hero by reference, and any plain input. */
export interface GraphStart {
  readonly hero?: unknown
  readonly input?: unknown
}

export interface GraphOrder {
  readonly order: StartOrder
  readonly prepared: Prepared
}

export async function graphOrder(
  engine: Engine,
  graph: BuiltGraph | FrozenGraph,
  { what, options, maxInputBytes }: { what: GraphStart; options: StartOptions; maxInputBytes: number },
): Promise<GraphOrder> {
  refuseUnknownJobs(engine.jobs, graph)
  refuseUnknownClasses(engine.registry, graph.nodes)
  const prepared = prepareGraph(what, options, maxInputBytes)
  const frozen = await freeze(engine, graph)
  const parsed = graphOfFrozen(frozen, { type: noType, queue: 'default', priority: 0, jobOptions: () => null })
  const course = {
    type: noType,
    graph: parsed,
    generation: 0,
    allowMultiple: true,
    handlerOf: (node: GraphNode) => handlerOf(parsed, node, noType),
  }
  const ids = await engine.store.takeIds(idsFor(parsed, prepared), options.transaction)
  // What came as plain data may be changed by whoever has it.
  const stored = 'freeze' in graph ? storedText(textOf(graph, frozen), parsed) : storedForm(frozen)
  return { order: { ...startOrder(course, prepared, ids), graph: stored }, prepared }
}

/** Nodes that were written out when the graph was built are not written again. */
function textOf(built: BuiltGraph, frozen: FrozenGraph): string {
  return frozen.nodes === built.nodes ? built.freezeToText(frozen.frozen_at) : JSON.stringify(frozen)
}

/** A process that only starts workflows may know no jobs at all; one that knows some should know them all. */
function refuseUnknownJobs(jobs: JobRegistry, graph: BuiltGraph | FrozenGraph): void {
  if (jobs.names.length === 0) return
  // Whoever has built it has them by name; in which node one of them stands is only asked where it is missing.
  if ('jobs' in graph && [...graph.jobs.keys()].every(name => jobs.find(name) !== null)) return
  for (const node of Object.values(graph.nodes)) {
    const unknown = jobsOf(node).find(job => jobs.find(job) === null)
    if (unknown === undefined) continue
    throw new InvalidArgumentError(
      `Node ${node.name} names the job ${unknown}, which is not registered. List it in \`new Geneva({ jobs: [...] })\`.`,
    )
  }
}

/** The same for the classes of children. */
function refuseUnknownClasses(registry: Registry, nodes: FrozenNodes): void {
  if (registry.definitions.length === 0) return
  const lost = Object.values(nodes).find(({ workflow }) => workflow !== undefined && !registry.has(workflow))
  if (lost === undefined) return
  throw new InvalidArgumentError(
    `Node ${lost.name} starts the workflow ${lost.workflow}, which is not registered. List it in \`new Geneva({ workflows: [...] })\`.`,
  )
}

/** What it runs, what undoes it, and what settles a lost call. */
function jobsOf({ job, method, compensation, once }: FrozenNode): string[] {
  // In the graph of a class it is a method.
  const undo = method === undefined ? compensation?.name : undefined
  return [job ?? [], undo ?? [], once?.job ?? []].flat()
}

function prepareGraph(what: GraphStart, options: StartOptions, maxBytes: number): Prepared {
  if (typeof what !== 'object' || what === null) {
    throw new InvalidArgumentError(`startGraph takes { hero, input } as its second argument, not ${String(what)}.`)
  }
  if (typeof options !== 'object' || options === null) {
    throw new InvalidArgumentError('The options of startGraph must be an object, like { delay, tags }.')
  }
  refuseUnknownStart('startGraph', what, options)
  if (options.identity !== undefined) {
    throw new InvalidArgumentError('A graph has no identity by content. Give startGraph an `idempotencyKey` instead.')
  }
  if (options.allowMultiple !== undefined) {
    throw new InvalidArgumentError(
      'A graph has no class, so any number may be active for a hero. Leave out `allowMultiple`.',
    )
  }
  const hero = identifyAnyHero(what.hero)
  const label = 'The input of a graph'
  const input = encodeValue(what.input, { what: label, maxBytes })
  return { hero, input, ...prepareOptions('a graph', options, hero, canonicalValue(what.input, label)) }
}

/** Queues and priorities of jobs and classes are written into the nodes, because whoever moves the workflow on may not have them. */
async function freeze(engine: Engine, graph: BuiltGraph | FrozenGraph): Promise<FrozenGraph> {
  const now = new Date(Math.floor((await engine.store.nearlyNow()) / 1000)).toISOString()
  const frozen = 'freeze' in graph ? graph.freeze(now) : graph
  const nodes = Object.values(frozen.nodes)
  const jobs = 'jobs' in graph ? graph.jobs.keys() : new Set(nodes.flatMap(node => node.job ?? []))
  const plain = [...jobs].every(name => {
    const job = engine.jobs.find(name)
    return job === null || (job.queue === null && job.priority === null)
  })
  if (plain && nodes.every(node => node.workflow === undefined)) return frozen
  const written = Object.entries(frozen.nodes).map(([id, node]) => [id, withCodeOptions(engine, node)] as const)
  return { ...frozen, nodes: Object.fromEntries(written) }
}

function withCodeOptions({ jobs, courses }: Engine, node: FrozenNode): FrozenNode {
  const code =
    node.workflow === undefined ? jobs.find(node.job ?? '') : courses.findDefinition(node.workflow)?.graph.data
  const queue = node.queue ?? code?.queue ?? undefined
  const priority = node.priority ?? code?.priority ?? undefined
  return {
    ...node,
    ...(queue === undefined ? {} : { queue }),
    ...(priority === undefined ? {} : { priority }),
  }
}
