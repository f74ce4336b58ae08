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
import { mistakeInKeys, optionNames, refuseUnknownOptions } from '../primitives/refuse-unknown-options.ts'
import { sanitizeText } from '../primitives/sanitize-text.ts'
import { isKeepable } from '../primitives/to-date.ts'
import type { Due, NewExecution } from '../store/change.ts'
import { type HeroKey, noProgress } from '../store/records.ts'
import type { StartOrder } from '../store/store.ts'
import { ancestryOf } from './ancestry.ts'
import { checkKey } from './check-key.ts'
import { deadlineOf, deadlineRow, type GivenDeadline } from './deadlines.ts'
import { laneFor, laneIn } from './lane-for.ts'
import { nameBeside, queueOf, slotOf } from './plan.ts'

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
  /**
   * `true`: it does not take the place of the one active workflow of its class and hero, and is not refused because of one.
   * Default: what its class says.
   */
  readonly allowMultiple?: boolean
  /** When the workflow must have ended: how long after its first step may run, or a time. Default: what its class says. */
  readonly deadline?: Duration | Date
  /** Who starts it, and why. Both are recorded with its first event. */
  readonly by?: string
  readonly reason?: string
}

export interface Prepared {
  readonly hero: HeroKey | null
  readonly input: string | null
  /** For comparing with what an idempotency key was used for before. */
  readonly canonicalInput: string
  readonly idempotencyKey: string | null
  /** By former names of the class, where the key is made from the content: its name is part of that. */
  readonly formerKeys?: ReadonlyMap<string, string | null>
  readonly tags: readonly string[]
  readonly delayMs: number
  readonly at: number | null
  /** The key that limits of its class count by. */
  readonly lane?: string
  /** `null`: what the class says. */
  readonly deadline: GivenDeadline | null
  readonly asked?: { readonly by: string | null; readonly reason: string | null }
  /** Left out: what the class says. */
  readonly allowMultiple?: boolean
}

const knownWhat = ['hero', 'input']
const knownOptions = optionNames<StartOptions>({
  transaction: 0,
  delay: 0,
  at: 0,
  tags: 0,
  idempotencyKey: 0,
  identity: 0,
  allowMultiple: 0,
  deadline: 0,
  by: 0,
  reason: 0,
})
/** So many a workflow may have. */
export const maxTags = 50
const maxAskedBytes = 10_000

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
  refuseUnknownStart(`start(${definition.type})`, what, options)
  const hero = identifyHero(definition, what.hero)
  const value = await validateInput(definition, what.input)
  const input = encodeChecked(definition, value, maxInputBytes)
  const canonicalInput = canonicalValue(value, `The input for ${definition.type}`)
  const lane = laneFor(definition, hero, value)
  const prepared = { hero, input, lane, ...prepareOptions(definition.type, options, hero, canonicalInput) }
  if (options.identity === undefined || definition.formerTypes.length === 0) return prepared
  const formerKeys = new Map(
    definition.formerTypes.map(type => [type, keyFor(type, options, contentOf(hero, canonicalInput))]),
  )
  return { ...prepared, formerKeys }
}

function contentOf(hero: HeroKey | null, canonicalInput: string): readonly unknown[] {
  return [hero?.type, hero?.idText, canonicalInput]
}

/** A misspelled key would otherwise be no key at all: of two starts of the same there would be two workflows. */
export function refuseUnknownStart(where: string, what: object, options: object): void {
  const mistake = mistakeInKeys(what, knownWhat)
  if (mistake !== null) {
    const misplaced = Object.keys(what).find(key => knownOptions.includes(key))
    const advice = misplaced === undefined ? '' : ` \`${misplaced}\` belongs into the options, the argument behind.`
    throw new InvalidArgumentError(`${where}, what to start: ${mistake}${advice}`)
  }
  refuseUnknownOptions(where, options, knownOptions)
}

/** Throws what `start` would throw for it. */
export async function encodeInput(
  definition: WorkflowDefinition,
  hero: HeroKey | null,
  given: unknown,
  maxBytes: number,
): Promise<{ readonly input: string | null; readonly lane: string }> {
  const value = await validateInput(definition, given)
  return { input: encodeChecked(definition, value, maxBytes), lane: laneFor(definition, hero, value) }
}

function encodeChecked({ type }: WorkflowDefinition, value: unknown, maxBytes: number): string | null {
  return encodeValue(value, { what: `The input for ${type}`, maxBytes })
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
    idempotencyKey: keyFor(what, options, contentOf(hero, canonicalInput)),
    tags: tagsFrom(options.tags),
    ...dueFrom(options),
    deadline: deadlineFrom(options.deadline),
    ...askedIn(options),
    ...multipleIn(options),
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

function askedIn({ by, reason }: StartOptions): Pick<Prepared, 'asked'> {
  if (by === undefined && reason === undefined) return {}
  const text = (given: unknown, name: string) => {
    if (given === undefined) return null
    if (typeof given === 'string') return sanitizeText(given, maxAskedBytes)
    throw new InvalidArgumentError(`\`${name}\` of a start must be a text, not ${typeof given}.`)
  }
  return { asked: { by: text(by, 'by'), reason: text(reason, 'reason') } }
}

function multipleIn({ allowMultiple }: StartOptions): Pick<Prepared, 'allowMultiple'> {
  if (allowMultiple === undefined) return {}
  if (typeof allowMultiple === 'boolean') return { allowMultiple }
  throw new InvalidArgumentError(`\`allowMultiple\` of a start must be true or false, not ${String(allowMultiple)}.`)
}

function tagsFrom(tags: readonly string[] | undefined): string[] {
  if (tags === undefined) return []
  if (!Array.isArray(tags) || tags.length > maxTags) {
    throw new InvalidArgumentError(`The tags must be an array of at most ${maxTags} texts.`)
  }
  return [...new Set(tags.map(tag => checkKey(tag, 'A tag')))]
}

function deadlineFrom(given: Duration | Date | undefined): GivenDeadline | null {
  if (given === undefined) return null
  if (given instanceof Date) {
    const at = given.getTime()
    if (isKeepable(at)) return { at }
    throw new InvalidArgumentError(
      'The deadline of a start must be a valid Date between the years 1697 and 2243. Leave it out for none.',
    )
  }
  const ms = toMilliseconds(given, 'The deadline of a start')
  if (ms > 0) return { ms }
  throw new InvalidArgumentError('A deadline of 0 leaves no time at all. Leave it out for none.')
}

function dueFrom(options: StartOptions): { delayMs: number; at: number | null } {
  const { delay, at } = options
  if (delay !== undefined && at !== undefined) throw new InvalidArgumentError('Give a start `delay` or `at`, not both.')
  const delayMs = delay === undefined ? 0 : toMilliseconds(delay, 'The delay of a start')
  if (at === undefined) return { delayMs, at: null }
  const time = at instanceof Date ? at.getTime() : at
  if (isKeepable(time)) return { delayMs: 0, at: time }
  throw new InvalidArgumentError(
    'The time `at` must be a valid Date or milliseconds since 1970, between the years 1697 and 2243.',
  )
}

/** What a workflow is started by: its graph, and the name and number of the code that runs it. */
export interface StartCourse {
  readonly type: string
  readonly graph: Graph
  readonly generation: number
  readonly allowMultiple: boolean
  readonly formerTypes?: readonly string[]
  /** Where in a trace it is started. */
  readonly trace?: string | null
  handlerOf(node: GraphNode): string
}

/** How many ids the order for such a start takes. */
export function idsFor(graph: Graph, prepared: Begin | undefined): number {
  const limited = prepared !== undefined && graph.entries.length > 0 && deadlineOf(graph, prepared) !== null
  return 1 + graph.entries.length + (limited ? 1 : 0)
}

/** The first id is the workflow's; the others go to the nodes that depend on nothing, and to the timer of its deadline. */
export function startOrder(course: StartCourse, prepared: Prepared, ids: readonly string[]): StartOrder {
  const [id = ''] = ids
  let next = 1
  return {
    id,
    type: course.type,
    hero: prepared.hero,
    input: prepared.input,
    allowMultiple: prepared.allowMultiple ?? course.allowMultiple,
    idempotencyKey: prepared.idempotencyKey,
    formerTypes: course.formerTypes ?? [],
    ...(prepared.formerKeys === undefined ? {} : { formerKeys: prepared.formerKeys }),
    tags: prepared.tags,
    lane: prepared.lane ?? '',
    generation: course.generation,
    graph: null,
    parent: null,
    trace: course.trace ?? null,
    ...(prepared.asked === undefined ? {} : { asked: prepared.asked }),
    taken: null,
    ...firstRows(course, prepared, { workflowId: id, takeId: () => ids[next++] ?? '' }),
  }
}

/** When a workflow begins, and when it must have ended. */
export type Begin = Pick<Prepared, 'delayMs' | 'at' | 'deadline' | 'lane'>

/** The rows of the nodes that depend on nothing, and the timer of the deadline. */
export function firstRows(
  course: Pick<StartCourse, 'graph' | 'generation' | 'handlerOf'>,
  begin: Begin,
  { workflowId, takeId }: { readonly workflowId: string; takeId(): string },
): Pick<StartOrder, 'first' | 'deadline'> {
  const { entries, data } = course.graph
  const first = entries.map(node => firstRow(course, begin, node, [workflowId, takeId()]))
  const deadline = first.length === 0 ? null : deadlineOf(course.graph, begin)
  if (deadline !== null) first.push(deadlineRow(workflowId, takeId(), deadline, data.onDeadline))
  return { first, deadline }
}

function firstRow(
  course: Pick<StartCourse, 'graph' | 'generation' | 'handlerOf'>,
  begin: Begin,
  node: GraphNode,
  [workflowId, id]: readonly [string, string],
): NewExecution {
  const { graph, generation } = course
  const queue = queueOf(graph, node)
  return {
    workflowId,
    slot: slotOf(graph, node.id),
    id,
    node: node.id,
    nodeName: nameBeside(node),
    kind: 'forward',
    attempt: 1,
    ordinal: 1,
    state: 'scheduled',
    queue,
    handler: course.handlerOf(node),
    lane: laneIn({ lane: begin.lane ?? '' }, node, queue),
    generation,
    priority: node.priority,
    due: firstDue(begin, node.waitMs),
    owner: null,
    fence: 0,
    failures: 0,
    crashes: 0,
    progress: noProgress,
    input: null,
    ancestry: ancestryOf(node.id, 1, []),
  }
}

function firstDue(prepared: Begin, waitMs: number): Due {
  if (prepared.at === null) return { inMs: prepared.delayMs + waitMs }
  return { at: Math.ceil((prepared.at + waitMs) * 1000) }
}
