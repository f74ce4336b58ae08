/** The attempts and the events of one workflow, a page at a time, with payloads as they are stored. */
import { givenIn } from '../../engine/stored-input.ts'
import { refuseUnknownOptions } from '../../primitives/refuse-unknown-options.ts'
import { toDate, toOptionalDate } from '../../primitives/to-date.ts'
import type { EventRecord } from '../../store/records.ts'
import type { Store } from '../../store/store.ts'
import type { AttemptRecord } from '../../store/view-store.ts'
import { encodedJson } from './encoded.ts'
import type { GapMemories } from './gap-memories.ts'
import { limitFrom, offsetFrom, type Page, type PageOptions, refuseUnknownOfPage } from './view-options.ts'
import { foundWorkflow } from './workflow-detail.ts'

export interface AttemptView
  extends Omit<
    AttemptRecord,
    'nodeName' | 'createdAt' | 'dueAt' | 'startedAt' | 'endedAt' | 'input' | 'output' | 'cursor' | 'error'
  > {
  /** What people call the node. */
  readonly name: string
  readonly createdAt: Date
  readonly scheduledFor: Date
  readonly startedAt: Date | null
  readonly endedAt: Date | null
  readonly error: { readonly name: string; readonly message: string; readonly stack: string | null } | null
  readonly input: unknown
  readonly output: unknown
  readonly cursor: unknown
}

export interface EventView extends Omit<EventRecord, 'id' | 'nodeName' | 'at' | 'since' | 'payload'> {
  readonly position: string
  /** What people call the node. */
  readonly name: string | null
  readonly at: Date
  readonly payload: unknown
}

export interface AttemptOptions extends PageOptions {
  /** Only attempts at this node, by its name or its id. */
  readonly node?: string
}

/** Oldest first, those under way last. */
export async function listAttempts(store: Store, id: string, options: AttemptOptions): Promise<Page<AttemptView>> {
  refuseUnknownOfPage('history', options, ['node'])
  const limit = limitFrom(options.limit)
  const offset = offsetFrom(options.cursor)
  await foundWorkflow(store, id)
  const { node } = options
  const read = { workflowId: id, offset, limit: limit + 1, ...(node === undefined ? {} : { node }) }
  const rows = await store.views.attempts(read)
  const items = rows.slice(0, limit).map(attemptView)
  return { items, nextCursor: rows.length > limit ? String(offset + limit) : null }
}

function attemptView(record: AttemptRecord): AttemptView {
  const { id, node, kind, attempt, state, outcome, owner, reason, completed, total, runs, ancestry, parents } = record
  const { error } = record
  return {
    ...{
      id,
      node,
      name: record.nodeName ?? node,
      kind,
      attempt,
      state,
      outcome,
      owner,
      reason,
      completed,
      total,
      runs,
      ancestry,
      parents,
    },
    createdAt: toDate(record.createdAt),
    scheduledFor: toDate(record.dueAt),
    startedAt: toOptionalDate(record.startedAt),
    endedAt: toOptionalDate(record.endedAt),
    error: error && { name: error.className, message: error.message, stack: error.stack },
    input: encodedJson(givenIn(record.input)),
    output: encodedJson(record.output),
    cursor: encodedJson(record.cursor),
  }
}

export interface EventOptions {
  /** The position of the last event that is known. */
  readonly after?: string
  readonly limit?: number
}

export interface WorkflowEventOptions extends EventOptions {
  /** Default `oldest`: from the beginning, or from `after`. `newest`: from the end, or from `before`. */
  readonly order?: 'oldest' | 'newest'
  /** The position of the oldest event that is known. */
  readonly before?: string
}

export async function listWorkflowEvents(
  store: Store,
  id: string,
  options: WorkflowEventOptions,
): Promise<Page<EventView>> {
  refuseUnknownOptions('eventsOf', options, ['after', 'limit', 'order', 'before'])
  const { order = 'oldest', before } = options
  const limit = limitFrom(options.limit, 1000)
  const after = positionFrom(options.after)
  await foundWorkflow(store, id)
  const rows = await store.views.eventsOf([id], {
    after,
    limit: limit + 1,
    newest: order === 'newest',
    ...(before === undefined ? {} : { before: offsetOf(before) }),
  })
  const items = rows.slice(0, limit).map(eventView)
  return { items, nextCursor: rows.length > limit ? (items.at(-1)?.position ?? null) : null }
}

export interface AllEventOptions extends EventOptions {
  readonly type?: string | readonly string[]
  /** Begins so many numbers before the end, instead of after a position. */
  readonly last?: number
}

/** Events of all workflows in order. `nextCursor` is where to go on, now or later: there is always one. */
export async function listEvents(store: Store, gaps: GapMemories, options: AllEventOptions): Promise<Page<EventView>> {
  refuseUnknownOptions('events', options, ['after', 'limit', 'type', 'last'])
  const { type, last, after } = options
  const limit = limitFrom(options.limit, 1000)
  const begin =
    last === undefined ? positionFrom(after) : Math.max(0, (await store.lastEvent()) - limitFrom(last, 1000))
  const types = type === undefined ? {} : { types: [type].flat() }
  const page = await store.readEvents({ after: begin, limit, memory: gaps.at(begin), ...types })
  gaps.keep(page)
  return { items: page.events.map(eventView), nextCursor: String(page.position) }
}

function positionFrom(after: string | undefined): number {
  return after === undefined ? 0 : offsetOf(after)
}

function offsetOf(after: string): number {
  if (/^\d{1,15}$/.test(after)) return Number(after)
  return offsetFrom(after)
}

export function eventView(record: EventRecord): EventView {
  const { workflowId, type, executionId, node, attempt, from, to, by, reason, outcome } = record
  return {
    position: record.id,
    ...{ workflowId, type, executionId, node, name: record.nodeName ?? node, attempt, from, to, by, reason, outcome },
    at: toDate(record.at),
    payload: encodedJson(record.payload),
  }
}
