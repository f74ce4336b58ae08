/**
 * From what a caller gives to `start` to what the store is asked for. Everything that can be wrong is found here, before
 * anything is written.
 */
import { createHash } from 'node:crypto'
import type { Graph, GraphNode } from '../definition/graph.ts'
import { identifyHero } from '../definition/identify-hero.ts'
import { validateInput } from '../definition/validate-input.ts'
import type { WorkflowDefinition } from '../definition/workflow-definition.ts'
import { InvalidArgumentError } from '../errors.ts'
import { type Duration, toMilliseconds } from '../primitives/duration.ts'
import { canonicalValue, encodeValue } from '../primitives/json-codec.ts'
import type { Due, NewExecution } from '../store/change.ts'
import { type HeroKey, noProgress } from '../store/records.ts'
import type { StartOrder } from '../store/store.ts'
import { ancestryOf } from './ancestry.ts'
import { checkKey } from './check-key.ts'
import { laneFor } from './lane-for.ts'
import { slotOf } from './plan.ts'

export interface StartOptions {
  /** A transaction of the application: the workflow exists if and only if it commits. */
  readonly transaction?: object
  /** How long the first step waits, besides its own wait. */
  readonly delay?: Duration
  /** When the first step may run at the earliest, by the database's clock. */
  readonly at?: Date | number
  /** Words to find the workflow by. */
  readonly tags?: readonly string[]
  /** A repeated start with this key and the same hero and input returns the workflow that exists. */
  readonly idempotencyKey?: string
  /** `content`: the key is made from type, hero and input. */
  readonly identity?: 'content'
}

export interface Prepared {
  readonly hero: HeroKey | null
  readonly input: string | null
  /** For comparing with what an idempotency key was used for before. */
  readonly canonicalInput: string
  readonly idempotencyKey: string | null
  readonly tags: readonly string[]
  readonly delayMs: number
  readonly at: number | null
  /** The key that limits of its class count by. */
  readonly lane?: string
}

const maxTags = 50

export async function prepareStart(
  definition: WorkflowDefinition,
  what: { readonly hero?: unknown; readonly input?: unknown },
  options: StartOptions,
  maxInputBytes: number,
): Promise<Prepared> {
  if (typeof what !== 'object' || what === null) {
    throw new InvalidArgumentError(`start(${definition.type}) takes \`{ hero, input }\`, not ${String(what)}.`)
  }
  if (typeof options !== 'object' || options === null) {
    throw new InvalidArgumentError(`The options of start(${definition.type}) must be an object, like { delay, tags }.`)
  }
  const hero = identifyHero(definition, what.hero)
  const value = await validateInput(definition, what.input)
  const input = encodeValue(value, { what: `The input for ${definition.type}`, maxBytes: maxInputBytes })
  const canonicalInput = canonicalValue(value, `The input for ${definition.type}`)
  const lane = laneFor(definition, hero, value)
  return { hero, input, lane, ...prepareOptions(definition.type, options, hero, canonicalInput) }
}

/** What does not depend on what is started. */
export function prepareOptions(
  what: string,
  options: StartOptions,
  hero: HeroKey | null,
  canonicalInput: string,
): Omit<Prepared, 'hero' | 'input' | 'lane'> {
  return {
    canonicalInput,
    idempotencyKey: keyFor(what, options, [hero?.type, hero?.idText, canonicalInput]),
    tags: tagsFrom(options.tags),
    ...dueFrom(options),
  }
}

function keyFor(type: string, options: StartOptions, content: readonly unknown[]): string | null {
  const { idempotencyKey, identity } = options
  if (identity !== undefined && identity !== 'content') {
    throw new InvalidArgumentError(`The identity ${JSON.stringify(identity)} of ${type} is not known. Use 'content'.`)
  }
  if (idempotencyKey !== undefined) {
    if (identity !== undefined)
      throw new InvalidArgumentError(`Give ${type} an idempotencyKey or an identity, not both.`)
    return checkKey(idempotencyKey, `The idempotency key of ${type}`)
  }
  if (identity === undefined) return null
  return `content:${createHash('sha256')
    .update(JSON.stringify([type, ...content]))
    .digest('hex')}`
}

function tagsFrom(tags: readonly string[] | undefined): string[] {
  if (tags === undefined) return []
  if (!Array.isArray(tags) || tags.length > maxTags) {
    throw new InvalidArgumentError(`The tags must be an array of at most ${maxTags} texts.`)
  }
  return [...new Set(tags.map(tag => checkKey(tag, 'A tag')))]
}

function dueFrom(options: StartOptions): { delayMs: number; at: number | null } {
  const { delay, at } = options
  if (delay !== undefined && at !== undefined) throw new InvalidArgumentError('Give a start `delay` or `at`, not both.')
  const delayMs = delay === undefined ? 0 : toMilliseconds(delay, 'The delay of a start')
  if (at === undefined) return { delayMs, at: null }
  const time = at instanceof Date ? at.getTime() : at
  // Within what a date can be, so that microseconds stay exact.
  if (typeof time !== 'number' || !Number.isFinite(time) || Math.abs(time) > 8.64e15 / 1000) {
    throw new InvalidArgumentError('The time `at` must be a valid Date or milliseconds since 1970.')
  }
  return { delayMs: 0, at: time }
}

/** What a workflow is started by: its graph, and the name and number of the code that runs it. */
export interface StartCourse {
  readonly type: string
  readonly graph: Graph
  readonly generation: number
  readonly allowMultiple: boolean
  readonly formerTypes?: readonly string[]
  handlerOf(node: GraphNode): string
}

/** The first id is the workflow's; the others go to the nodes that depend on nothing. */
export function startOrder(course: StartCourse, prepared: Prepared, ids: readonly string[]): StartOrder {
  const [id = '', ...rowIds] = ids
  return {
    id,
    type: course.type,
    hero: prepared.hero,
    input: prepared.input,
    allowMultiple: course.allowMultiple,
    idempotencyKey: prepared.idempotencyKey,
    formerTypes: course.formerTypes ?? [],
    tags: prepared.tags,
    lane: prepared.lane ?? '',
    generation: course.generation,
    graph: null,
    parent: null,
    taken: null,
    first: course.graph.entries.map((node, index) => firstRow(course, prepared, node, [id, rowIds[index] ?? ''])),
  }
}

function firstRow(
  { graph, generation, handlerOf }: StartCourse,
  prepared: Prepared,
  node: GraphNode,
  [workflowId, id]: readonly [string, string],
): NewExecution {
  return {
    workflowId,
    slot: slotOf(graph, node.id),
    id,
    node: node.id,
    kind: 'forward',
    attempt: 1,
    ordinal: 1,
    state: 'scheduled',
    queue: node.queue,
    handler: handlerOf(node),
    lane: prepared.lane ?? '',
    generation,
    priority: node.priority,
    due: firstDue(prepared, node.waitMs),
    owner: null,
    fence: 0,
    failures: 0,
    crashes: 0,
    progress: noProgress,
    input: null,
    ancestry: ancestryOf(node.id, 1, []),
  }
}

function firstDue(prepared: Prepared, waitMs: number): Due {
  if (prepared.at === null) return { inMs: prepared.delayMs + waitMs }
  return { at: Math.ceil((prepared.at + waitMs) * 1000) }
}
