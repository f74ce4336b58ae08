/**
 * A graph as JSON, for people to read and edit: names, jobs, arguments and edges, and no code. It is what is stored with
 * a workflow that does not follow a class. Reading one from outside is `parseFrozenGraph`, which checks everything.
 */
import { createHash } from 'node:crypto'
import { encodeValue } from '../primitives/json-codec.ts'
import { readValue } from '../primitives/read-value.ts'
import { type FrozenFlow, flowOfFrozen, flowShape, frozenFlowOf } from './frozen-flow.ts'
import { type DeadlineAction, Graph, type GraphData, type GraphNode, type NodeKind } from './graph.ts'
import { defaultGraphLimits } from './graph-limits.ts'
import type { StoredRetry } from './retry-in-graph.ts'
import type { PolicyNotation } from './step-options.ts'

export const frozenGraphVersion = 1

export interface FrozenGraph {
  readonly version: typeof frozenGraphVersion
  /** SHA-256 over names, edges, jobs and control flow. It tells structures apart, not graphs: ids and arguments are not in it. */
  readonly signature: string
  /** When the graph was frozen, in ISO 8601. */
  readonly frozen_at: string
  /** What the graph was expanded from. */
  readonly template?: FrozenTemplate
  /** Former names of nodes, each with the present one: of a class whose graph was frozen. */
  readonly renamed?: Readonly<Record<string, string>>
  /** How long what runs may take to stop: of a class whose graph was frozen. Default: 30 seconds. */
  readonly stop_grace_ms?: number
  /** How long a workflow may take that begins by this graph; without it, as long as it likes. */
  readonly deadline_ms?: number
  /** What happens then. Default: it is canceled. */
  readonly on_deadline?: DeadlineAction
  /** By id. */
  readonly nodes: FrozenNodes
}

export interface FrozenTemplate {
  readonly name: string
  /** Plain JSON, tags included. */
  readonly args: unknown
}

export type FrozenNodes = Readonly<Record<string, FrozenNode>>

/** A node with code has a job, or a method of the class whose graph was frozen; or it starts a workflow. */
export interface FrozenNode extends FrozenFlow {
  readonly name: string
  readonly job?: string
  readonly method?: string
  /** Of child nodes: the stored name of the class that is started. */
  readonly workflow?: string
  /** Absent: a step. */
  readonly kind?: Exclude<NodeKind, 'step' | 'item'>
  /** Plain JSON, tags included. */
  readonly args?: unknown
  readonly depends_on: readonly string[]
  readonly wait_ms?: number
  readonly queue?: string
  readonly priority?: number
  readonly concurrency?: number
  readonly retry?: StoredRetry
  /** How long an attempt of its job may take. */
  readonly timeout_ms?: number
  /** In the notation of the option `onException`, durations in milliseconds. */
  readonly on_exception?: PolicyNotation
  /** Plain JSON, tags included. */
  readonly metadata?: unknown
}

/** What a graph takes from its surroundings where its nodes are silent. */
export interface GraphDefaults {
  /** The stored name of the class; `null` for a graph that was built at run time. */
  readonly type: string | null
  readonly queue: string
  readonly priority: number
  /** What a job says about its nodes; `null` for a job that is not known here. */
  readonly jobOptions: (job: string) => { readonly queue: string | null; readonly priority: number | null } | null
}

/** The graph to decide by. The nodes must be sound, as those of `buildGraph`, `parseFrozenGraph` and `freezeClassGraph` are. */
export function graphOfFrozen(
  frozen: Pick<FrozenGraph, 'nodes' | 'renamed' | keyof FrozenTimes>,
  defaults: GraphDefaults,
): Graph {
  const { type, queue, priority } = defaults
  const nodes = Object.entries(frozen.nodes).map(([id, node]) => graphNodeOf(id, node, defaults))
  const { renamed } = frozen
  return new Graph({
    type,
    queue,
    priority,
    nodes,
    ...(renamed === undefined ? {} : { renamed }),
    ...timesOfFrozen(frozen),
  })
}

/** What a graph says about the time of its workflows as a whole. */
type FrozenTimes = Pick<FrozenGraph, 'stop_grace_ms' | 'deadline_ms' | 'on_deadline'>
type GraphTimes = Pick<GraphData, 'stopGraceMs' | 'deadlineMs' | 'onDeadline'>

function timesOfFrozen(frozen: FrozenTimes): GraphTimes {
  const { stop_grace_ms: stopGraceMs, deadline_ms: deadlineMs, on_deadline: onDeadline } = frozen
  return {
    ...(stopGraceMs === undefined ? {} : { stopGraceMs }),
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
    ...(onDeadline === undefined ? {} : { onDeadline }),
  }
}

function frozenTimesOf({ stopGraceMs, deadlineMs, onDeadline }: GraphTimes): FrozenTimes {
  return {
    ...(stopGraceMs === undefined ? {} : { stop_grace_ms: stopGraceMs }),
    ...(deadlineMs === undefined ? {} : { deadline_ms: deadlineMs }),
    ...(onDeadline === undefined ? {} : { on_deadline: onDeadline }),
  }
}

function graphNodeOf(id: string, node: FrozenNode, defaults: GraphDefaults): GraphNode {
  const { name, kind = 'step', job, workflow, concurrency, metadata } = node
  const said = job === undefined ? null : defaults.jobOptions(job)
  return {
    id,
    name,
    kind,
    waitMs: node.wait_ms ?? 0,
    queue: node.queue ?? said?.queue ?? defaults.queue,
    priority: node.priority ?? said?.priority ?? defaults.priority,
    dependsOn: node.depends_on,
    ...(job === undefined ? {} : { job }),
    ...(workflow === undefined ? {} : { workflow }),
    ...(node.method === undefined && mayLackCode.includes(kind) ? { codeless: true as const } : {}),
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(metadata === undefined ? {} : { metadata: readMetadata(metadata) }),
    ...flowOfFrozen(node),
  }
}

/** The graph of a class, as it is now. `graphOfFrozen` gives back an equal one, whatever the class says by then. */
export function freezeClassGraph(graph: Graph, frozenAt: string): FrozenGraph {
  const nodes = Object.fromEntries(graph.nodes.map(node => [node.id, freezeClassNode(node)]))
  return {
    version: frozenGraphVersion,
    signature: signatureOfNodes(nodes),
    frozen_at: frozenAt,
    ...(graph.renamed.size > 0 ? { renamed: Object.fromEntries(graph.renamed) } : {}),
    ...frozenTimesOf(graph.data),
    nodes,
  }
}

function freezeClassNode(node: GraphNode): FrozenNode {
  const { name, kind, job, dependsOn, waitMs, queue, priority, concurrency, metadata } = node
  return {
    name,
    ...(withoutCode.includes(kind) ? {} : job === undefined ? { method: name } : { job }),
    ...(kind === 'step' || kind === 'item' ? {} : { kind }),
    depends_on: dependsOn,
    ...(waitMs === 0 ? {} : { wait_ms: waitMs }),
    queue,
    priority,
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(metadata === undefined ? {} : { metadata: frozenMetadata(metadata, `The metadata of node ${name}`) }),
    ...frozenFlowOf(node),
  }
}

/** Kinds whose code only looks at what came. */
const mayLackCode: readonly NodeKind[] = ['human', 'signal']

/** Kinds of nodes that do nothing themselves. */
export const withoutCode: readonly NodeKind[] = ['fork', 'join', 'savePoint']

/** Throws `UnstorableValueError` and `ValueTooLargeError`. */
export function frozenMetadata(metadata: object, what: string): unknown {
  return JSON.parse(encodeValue(metadata, { what, maxBytes: defaultGraphLimits.bytes }) ?? '{}')
}

/** Throws for JSON that is no value. */
export function readMetadata(json: unknown): Record<string, unknown> {
  return readValue(JSON.parse(JSON.stringify(json))) as Record<string, unknown>
}

/** Equal for graphs with the same names, edges and jobs, in whatever order they were declared and whatever their ids are. */
export function signatureOfNodes(nodes: FrozenNodes): string {
  const lines: string[] = []
  const namesOf = (ids: readonly string[]) => JSON.stringify(ids.map(id => nodes[id]?.name ?? id).sort())
  const byName = Object.values(nodes).sort((a, b) => (a.name < b.name ? -1 : 1))
  let last: { readonly ids: readonly string[]; readonly names: string } | undefined
  const nameOf = (id: string) => nodes[id]?.name ?? id
  for (const node of byName) {
    const { name, depends_on: ids, job = null } = node
    // Neighbours are often of one fan-out and share one list, which may be as long as they are many.
    const names: string = last?.ids === ids ? last.names : namesOf(ids)
    last = { ids, names }
    const flow = flowShape(node, nameOf)
    lines.push(`${JSON.stringify(name)} ${names} ${JSON.stringify(job)}${flow === null ? '' : JSON.stringify(flow)}\n`)
  }
  return hashOfLines(lines)
}

/** So many at a time: each call costs more than a line, and all of them together may be a very long text. */
const linesPerCall = 1000

function hashOfLines(lines: readonly string[]): string {
  const hash = createHash('sha256')
  for (let start = 0; start < lines.length; start += linesPerCall) {
    hash.update(lines.slice(start, start + linesPerCall).join(''))
  }
  return hash.digest('hex')
}
