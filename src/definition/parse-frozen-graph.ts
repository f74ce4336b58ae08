/**
 * Reads a graph that came from outside: exported, edited by hand, or made by another program. It is checked like a new
 * one, and what comes out holds nothing but what was checked. Editing changes the signature, so it is computed anew.
 */
import { GraphTooLargeError, InvalidGraphError } from '../errors.ts'
import { describeError } from '../primitives/describe-error.ts'
import { encodeValue } from '../primitives/json-codec.ts'
import { readValue } from '../primitives/read-value.ts'
import { joinSuffix } from './bind-branches.ts'
import { checkFlow } from './check-flow.ts'
import { checkStructure, nodeCalled } from './check-structure.ts'
import { testOf } from './frozen-flow.ts'
import {
  type FrozenGraph,
  type FrozenNode,
  type FrozenNodes,
  type FrozenTemplate,
  frozenGraphVersion,
  readMetadata,
  signatureOfNodes,
  withoutCode,
} from './frozen-graph.ts'
import { deadlineActions, type NodeKind } from './graph.ts'
import { defaultGraphLimits, type GraphLimits, GraphTally } from './graph-limits.ts'
import { decodeArgs, encodeArgs } from './node-args.ts'
import { longestNames, maxNameLength, mistakeInGraphName, mistakeInStoredName } from './node-name.ts'
import { inGraph, storedRules } from './node-rules.ts'
import { definedDeadline, definedDuration, definedTimeout, definedWord, refuseUnknownKeys } from './option-checks.ts'
import { OutputReference } from './output-reference.ts'
import { flowFields, flowIn } from './parse-flow.ts'
import { checkChildArgs } from './stored-child.ts'
import { outputsIn } from './stored-condition.ts'
import { isPlainObject } from './validate-input.ts'

export interface ParseOptions {
  readonly limits?: GraphLimits
  /** Given, nodes with a job that it does not know are refused. */
  readonly knowsJob?: (job: string) => boolean
  /** Given, nodes with a method that it does not know are refused: a graph without a class has none. */
  readonly knowsMethod?: (method: string) => boolean
  /** Given, nodes with a form that it does not know are refused. */
  readonly knowsForm?: (form: string) => boolean
  /** Given, child nodes that start a class that it does not know are refused. */
  readonly knowsWorkflow?: (type: string) => boolean
}

type Json = Readonly<Record<string, unknown>>

/** A graph on its way in. */
interface Reading {
  readonly options: ParseOptions
  readonly tally: GraphTally
  readonly references: Map<string, ReadonlySet<string>>
}

const timeFields = ['stop_grace_ms', 'deadline_ms', 'on_deadline']
const graphFields = ['version', 'signature', 'frozen_at', 'template', 'renamed', ...timeFields, 'nodes']
const nodeFields = [
  ...['name', 'job', 'method', 'workflow', 'kind', 'args', 'depends_on', 'wait_ms', 'queue', 'priority', 'concurrency'],
  ...['retry', 'timeout_ms', 'on_exception', 'metadata'],
  ...flowFields,
]
const kinds: readonly unknown[] = [
  ...(['resumable', 'each', 'child', 'condition', 'fork', 'join', 'savePoint', 'human', 'signal'] as const),
] satisfies FrozenNode['kind'][]

/** Takes the text or the parsed JSON. Throws `InvalidGraphError`, naming node and field, and `GraphTooLargeError`. */
export function parseFrozenGraph(json: unknown, options: ParseOptions = {}): FrozenGraph {
  const limits = options.limits ?? defaultGraphLimits
  const reading: Reading = { options, tally: new GraphTally(limits), references: new Map() }
  return inGraph(limits.bytes, () => {
    const graph = graphIn(json, reading)
    const nodes = nodesIn(graph.nodes, reading)
    checkStructure(nodes, referencesIn(nodes, reading))
    checkFlow(nodes)
    return {
      version: frozenGraphVersion,
      signature: signatureOfNodes(nodes),
      frozen_at: graph.frozen_at as string,
      ...(graph.template === undefined ? {} : { template: templateIn(graph.template, limits) }),
      ...(graph.renamed === undefined ? {} : { renamed: renamedIn(graph.renamed, nodes) }),
      ...timesIn(graph),
      nodes,
    }
  })
}

/** Former names, each with the id of a node that is there. */
function renamedIn(json: unknown, nodes: FrozenNodes): Record<string, string> {
  const renamed = objectIn(json, 'The `renamed` of the graph')
  for (const [from, to] of Object.entries(renamed)) {
    if (typeof to === 'string' && Object.hasOwn(nodes, to) && !Object.hasOwn(nodes, from)) continue
    throw new InvalidGraphError(
      `The graph maps the former name ${JSON.stringify(from)} to a node that it does not have.`,
    )
  }
  return renamed as Record<string, string>
}

/** How long its workflows may take, as a whole and to stop. */
function timesIn(graph: Json): Pick<FrozenGraph, 'stop_grace_ms' | 'deadline_ms' | 'on_deadline'> {
  const { stop_grace_ms: stopGrace, deadline_ms: deadline, on_deadline: onDeadline } = graph
  return {
    ...(stopGrace === undefined ? {} : { stop_grace_ms: millisecondsIn(stopGrace, 'its stop_grace_ms') }),
    ...(deadline === undefined
      ? {}
      : { deadline_ms: definedDeadline(millisecondsIn(deadline, 'its deadline_ms'), 'The graph') }),
    ...(onDeadline === undefined
      ? {}
      : { on_deadline: definedWord(onDeadline, deadlineActions, 'The graph: its on_deadline') }),
  }
}

function millisecondsIn(given: unknown, what: string): number {
  if (typeof given === 'number') return definedDuration(given, what, 'The graph')
  throw new InvalidGraphError(`The graph: ${what} must be a number of milliseconds.`)
}

/** The fields of the graph itself. Going through text leaves nothing of the caller's objects, their getters or prototypes. */
function graphIn(json: unknown, { tally }: Reading): Json {
  const graph = objectIn(parsed(json, tally), 'The graph')
  if (graph.version !== frozenGraphVersion) {
    throw new InvalidGraphError(
      `The graph has the version ${JSON.stringify(graph.version)}, and this release reads version ${frozenGraphVersion}. A newer release may have written it.`,
    )
  }
  refuseUnknownKeys(graph, graphFields, 'The graph')
  if (graph.signature !== undefined && typeof graph.signature !== 'string') {
    throw new InvalidGraphError('The graph: its signature must be a text. Leave it out to have it computed.')
  }
  if (typeof graph.frozen_at !== 'string' || Number.isNaN(Date.parse(graph.frozen_at))) {
    throw new InvalidGraphError('The graph: its frozen_at must be a time, like "2024-01-15T10:30:00Z".')
  }
  return graph
}

function parsed(json: unknown, tally: GraphTally): unknown {
  try {
    const text: unknown = typeof json === 'string' ? json : JSON.stringify(json)
    if (typeof text !== 'string') throw new Error(`it is a ${typeof json}`)
    tally.add('bytes', Buffer.byteLength(text))
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof GraphTooLargeError) throw error
    throw new InvalidGraphError(`The graph is not JSON: ${describeError(error).message}.`)
  }
}

function nodesIn(json: unknown, reading: Reading): FrozenNodes {
  const entries = Object.entries(objectIn(json, 'The graph: its nodes'))
  reading.tally.add('nodes', entries.length)
  return Object.freeze(Object.fromEntries(entries.map(([id, node]) => [id, nodeIn(id, node, reading)])))
}

function nodeIn(id: string, json: unknown, reading: Reading): FrozenNode {
  const node = objectIn(json, `Node ${id.slice(0, 60)}`)
  const mistake = id in Object.prototype ? 'has a meaning in JavaScript' : mistakeInNameOf(node, id)
  if (mistake !== null) throw new InvalidGraphError(`The node id ${JSON.stringify(id.slice(0, 60))} ${mistake}.`)
  const wrongName = mistakeInNameOf(node, node.name)
  if (wrongName !== null) throw new InvalidGraphError(`Node ${id}: its name ${wrongName}.`)
  const name = node.name as string
  const where = nodeCalled(name, id)
  refuseUnknownKeys(node, nodeFields, where)
  if (node.wait_ms !== undefined && typeof node.wait_ms !== 'number') {
    throw new InvalidGraphError(`${where}: its wait_ms must be a number of milliseconds.`)
  }
  const { wait_ms: wait, queue, priority, retry, on_exception: onException } = node
  return {
    name,
    ...(node.workflow === undefined ? codeIn(node, where, reading.options) : workflowIn(node, where, reading.options)),
    ...kindIn(node, where),
    ...argsIn(id, node, where, reading),
    depends_on: dependenciesIn(node.depends_on, where, reading.tally),
    ...storedRules({ wait, queue, priority, retry, onException, ...metadataIn(node, where) }, where),
    ...timeoutIn(node, where),
    ...flowIn(node, where, reading.options),
  }
}

/** That of a method is said by its class; human and signal nodes have a time to wait instead. */
function timeoutIn({ timeout_ms: timeout, job }: Json, where: string): Pick<FrozenNode, 'timeout_ms'> {
  if (timeout === undefined) return {}
  if (job === undefined) throw new InvalidGraphError(`${where}: timeout_ms belongs to nodes with a job.`)
  if (typeof timeout === 'number') return { timeout_ms: definedTimeout(timeout, where) }
  throw new InvalidGraphError(`${where}: its timeout_ms must be a number of milliseconds.`)
}

/** The join of a fork goes by the name of the fork, with a suffix that no other node may have. */
function mistakeInNameOf({ kind }: Json, name: unknown): string | null {
  if (kind === 'each') return mistakeInGraphName(name, longestNames.each)
  return kind === 'join' && typeof name === 'string' && name.endsWith(joinSuffix)
    ? mistakeInGraphName(name.slice(0, -joinSuffix.length), longestNames.fork)
    : mistakeInGraphName(name)
}

/** Also what expressions ask for. */
function referencesIn(nodes: FrozenNodes, { references }: Reading): Map<string, ReadonlySet<string>> {
  const asking = Object.entries(nodes).flatMap(([id, node]) => {
    const text = node.test ?? testOf(node)?.text
    return text === undefined ? [] : [{ id, text }]
  })
  if (asking.length === 0) return references
  const ids = new Map(Object.entries(nodes).map(([id, { name }]) => [name, id]))
  for (const { id, text } of asking) {
    const asked = [...(outputsIn(text) ?? [])].map(name => ids.get(name) ?? name)
    if (asked.length > 0) references.set(id, new Set([...(references.get(id) ?? []), ...asked]))
  }
  return references
}

/** What kind of code a node has, or that it may have none. */
function codeIn(node: Json, where: string, options: ParseOptions): Pick<FrozenNode, 'job' | 'method'> {
  const { job, method, kind, test } = node
  const waits = kind === 'human' || kind === 'signal'
  if (kind === 'child' && method === undefined) {
    throw new InvalidGraphError(
      `${where}: a node of the kind child names the workflow that it starts, or has a method.`,
    )
  }
  if (withoutCode.includes(kind as NodeKind) || waits || kind === 'condition') {
    if (job !== undefined || (method !== undefined && withoutCode.includes(kind as NodeKind)))
      throw new InvalidGraphError(`${where}: a node of the kind ${kind} has no job, and does nothing itself.`)
    if (kind === 'condition' && (test === undefined) === (method === undefined))
      throw new InvalidGraphError(`${where}: a condition must have a test or a method, and not both.`)
    if (method === undefined) return {}
  } else if ((job === undefined) === (method === undefined)) {
    throw new InvalidGraphError(`${where}: it must have a job or a method, and not both.`)
  }
  const field = job === undefined ? 'method' : 'job'
  const code = job ?? method
  const mistake = mistakeInStoredName(code, job === undefined ? maxNameLength : longestNames.job)
  if (mistake !== null) throw new InvalidGraphError(`${where}: its ${field} ${mistake}.`)
  const knows = field === 'job' ? options.knowsJob : options.knowsMethod
  if (knows?.(code as string) === false) {
    const remedy =
      field === 'job' ? 'Register it: `new Geneva({ jobs: [...] })`.' : 'A graph that was built at run time has jobs.'
    throw new InvalidGraphError(`${where}: its ${field} ${JSON.stringify(code)} is not known here. ${remedy}`)
  }
  return { [field]: code }
}

function workflowIn(node: Json, where: string, { knowsWorkflow }: ParseOptions): Pick<FrozenNode, 'workflow'> {
  const { workflow, job, method, kind } = node
  if (kind !== 'child') throw new InvalidGraphError(`${where}: workflow belongs to nodes of the kind child.`)
  if (job !== undefined || method !== undefined) {
    throw new InvalidGraphError(`${where}: a child node that starts a workflow has no job or method.`)
  }
  const mistake = mistakeInStoredName(workflow)
  if (mistake !== null) throw new InvalidGraphError(`${where}: its workflow ${mistake}.`)
  if (knowsWorkflow?.(workflow as string) !== false) return { workflow: workflow as string }
  throw new InvalidGraphError(
    `${where}: its workflow ${JSON.stringify(workflow)} is not known here. Register it: \`new Geneva({ workflows: [...] })\`.`,
  )
}

function kindIn({ kind, concurrency, job }: Json, where: string): Pick<FrozenNode, 'kind' | 'concurrency'> {
  if (kind !== undefined && kind !== 'step' && !kinds.includes(kind)) {
    throw new InvalidGraphError(`${where}: its kind must be one of step, ${kinds.join(', ')}.`)
  }
  if (
    concurrency !== undefined &&
    !(kind === 'each' && Number.isSafeInteger(concurrency) && Number(concurrency) >= 1)
  ) {
    throw new InvalidGraphError(
      `${where}: a concurrency is a whole number of at least 1, and belongs to the kind each.`,
    )
  }
  if (kind === 'each' && job !== undefined) {
    throw new InvalidGraphError(
      `${where}: a node of the kind each has a method of its class, which tells its items, and no job. Give every item a node of its own, or start a class with \`each\` as a child.`,
    )
  }
  return {
    ...(kind === undefined || kind === 'step' ? {} : { kind: kind as NonNullable<FrozenNode['kind']> }),
    ...(concurrency === undefined ? {} : { concurrency: concurrency as number }),
  }
}

/** Written anew, which refuses what a database cannot hold and what was never written by a codec. */
function argsIn(
  id: string,
  { args, workflow }: Json,
  where: string,
  { tally, references }: Reading,
): Pick<FrozenNode, 'args'> {
  if (args === undefined) return {}
  const value = readable(() => decodeArgs(args), `${where}: its args`)
  if (!isPlainObject(value) && !(value instanceof OutputReference)) {
    throw new InvalidGraphError(`${where}: its args must be an object.`)
  }
  if (workflow !== undefined) checkChildArgs(value, where)
  const encoded = encodeArgs(value as object, `${where}: its args`, tally.limits.bytes)
  if (encoded.references.size > 0) references.set(id, encoded.references)
  return { args: encoded.json }
}

function metadataIn({ metadata }: Json, where: string): { readonly metadata?: unknown } {
  if (metadata === undefined) return {}
  return { metadata: readable(() => readMetadata(metadata), `${where}: its metadata`) }
}

function dependenciesIn(json: unknown, where: string, tally: GraphTally): readonly string[] {
  if (!Array.isArray(json) || !json.every(id => typeof id === 'string')) {
    throw new InvalidGraphError(`${where}: its depends_on must be a list of node ids.`)
  }
  const ids = [...new Set<string>(json)]
  tally.add('edges', ids.length)
  return Object.freeze(ids)
}

function templateIn(json: unknown, limits: GraphLimits): FrozenTemplate {
  const where = 'The graph: its template'
  const template = objectIn(json, where)
  refuseUnknownKeys(template, ['name', 'args'], where)
  const mistake = mistakeInStoredName(template.name)
  if (mistake !== null) throw new InvalidGraphError(`${where}: its name ${mistake}.`)
  const args = readable(() => readValue(template.args), `${where}: its args`)
  const text = encodeValue(args, { what: `${where}: its args`, maxBytes: limits.bytes }) ?? '{}'
  return { name: template.name as string, args: JSON.parse(text) }
}

function objectIn(json: unknown, where: string): Json {
  if (typeof json === 'object' && json !== null && !Array.isArray(json)) return json as Json
  throw new InvalidGraphError(`${where} must be an object.`)
}

function readable<T>(read: () => T, where: string): T {
  try {
    return read()
  } catch (error) {
    throw new InvalidGraphError(`${where} cannot be read: ${describeError(error).message}.`)
  }
}
