/**
 * The record of events across all workflows, read in order from a position. Numbers are handed out before commits, so a read
 * never goes past one that is missing until it is sure that nothing will appear there.
 */
import type { EventPage, EventRead, EventWithType, NumberWindow, Settlement } from '../event-store.ts'
import { eventColumns } from './columns.ts'
import type { SqlContext } from './context.ts'
import { eventRecord, int, optionalInt, text } from './decode.ts'
import type { Row } from './dialect.ts'
import { retrying } from './retrying.ts'
import { join, oneOf, raw, type Sql, sql } from './sql.ts'

/** How many numbers one read looks at. A range, not a limit: an index over blocks of rows knows no order. */
const windowSize = 1000

export async function readEvents(context: SqlContext, read: EventRead): Promise<EventPage> {
  const { after } = read
  const ahead = await lookAhead(context, after)
  if (ahead === null) return { events: [], position: after, memory: null, next: 'later' }
  const { upTo, before } = ahead
  const { settled, memory } =
    before === upTo
      ? { settled: upTo, memory: null }
      : await settleEvents(context, { after, upTo, memory: read.memory })
  const end = Math.max(settled, before)
  if (end <= after) return { events: [], position: after, memory, next: 'soon' }
  // A read that begins now sees all there will ever be, up to there.
  const events = (await context.read(selectEvents(context, read, end))).map(eventWithType)
  const isCut = events.length === read.limit
  return { events, position: isCut ? Number(events.at(-1)?.id) : end, memory, next: 'at once' }
}

export async function lastEvent(context: SqlContext): Promise<number> {
  const rows = await context.read(context.dialect.highestNumber(context.tables.events))
  return (rows[0] && optionalInt(rows[0], 'highest')) ?? 0
}

export function settleEvents(context: SqlContext, window: NumberWindow): Promise<Settlement> {
  const { database, dialect, tables } = context
  return retrying(dialect, () => database.session(session => dialect.settle(session, tables.events, window)))
}

interface Ahead {
  /** The highest number in the next window; behind a long gap, the first that comes. */
  readonly upTo: number
  /** The last number before one is missing. */
  readonly before: number
}

async function lookAhead(context: SqlContext, after: number): Promise<Ahead | null> {
  const { events } = context.tables
  const near = await context.read(
    sql`select v.id from ${events} v where v.id > ${after} and v.id <= ${after + windowSize} order by v.id`,
  )
  const ids = near.map(row => int(row, 'id'))
  const upTo = ids.at(-1)
  if (upTo !== undefined) {
    const gap = ids.findIndex((id, index) => id !== after + index + 1)
    return { upTo, before: gap === -1 ? upTo : after + gap }
  }
  const far = await context.read(sql`select min(v.id) as first from ${events} v where v.id > ${after}`)
  const first = far[0] ? optionalInt(far[0], 'first') : null
  return first === null ? null : { upTo: first, before: after }
}

function selectEvents(context: SqlContext, read: EventRead, upTo: number): Sql {
  const { events, workflows } = context.tables
  const conditions: Sql[] = [sql`v.id > ${read.after} and v.id <= ${upTo}`]
  if (read.workflowId !== undefined) conditions.push(sql`v.workflow_id = ${context.id(read.workflowId)}`)
  if (read.types !== undefined) conditions.push(oneOf(raw('v.type'), read.types))
  return sql`select ${eventColumns}, w.type as workflow_type from ${events} v
    left join ${workflows} w on ${context.dialect.sameKey('w.id', 'v.workflow_id')} where ${join(conditions, ' and ')}
    order by v.id limit ${read.limit}`
}

function eventWithType(row: Row): EventWithType {
  return { ...eventRecord(row), workflowType: row.workflow_type === null ? '' : text(row, 'workflow_type') }
}
