/** Counts over a bounded stretch of the record of events, for charts, and what is new about workflows that somebody watches. */
import type { EventRecord } from '../../records.ts'
import type { EventsRead, EventTally, TallyRead, TookSample } from '../../view-store.ts'
import { eventColumns } from '../columns.ts'
import type { SqlContext } from '../context.ts'
import { eventRecord, int, text } from '../decode.ts'
import { join, raw, sql } from '../sql.ts'

export async function tallyEvents(context: SqlContext, read: TallyRead): Promise<EventTally[]> {
  const types = join(
    read.types.map(type => sql`${type}`),
    ', ',
  )
  const rows = await context.read(
    sql`select t.stretch, t.type, count(*) as total from (select v.at - (v.at % ${read.everyMicros}) as stretch, v.type
        from ${context.tables.events} v where v.id > ${read.after} and v.id <= ${read.upTo} and v.type in (${types})
          and (v.from_state is null or v.from_state <> ${read.exceptFrom})) t
      group by t.stretch, t.type`,
  )
  return rows.map(row => ({ at: int(row, 'stretch'), type: text(row, 'type'), count: int(row, 'total') }))
}

/** Every so many numbers one, so that the sample is spread over the whole stretch. */
export async function sampleTook(
  context: SqlContext,
  { after, upTo }: Pick<TallyRead, 'after' | 'upTo'>,
  limit: number,
): Promise<TookSample[]> {
  const step = Math.max(1, Math.floor((upTo - after) / (limit * 4)))
  const rows = await context.read(
    sql`select v.at, v.at - v.since as took from ${context.tables.events} v
      where v.id > ${after} and v.id <= ${upTo} and v.id % ${step} = 0 and v.type = 'step.completed' and v.since is not null
      limit ${limit}`,
  )
  return rows.map(row => ({ at: int(row, 'at'), took: Math.max(0, int(row, 'took')) }))
}

export async function latestEvents(
  context: SqlContext,
  workflowIds: readonly string[],
  after: number,
): Promise<Map<string, { id: number; type: string }>> {
  if (workflowIds.length === 0) return new Map()
  const { events } = context.tables
  const rows = await context.read(
    sql`select v.workflow_id, v.id, v.type from (select n.workflow_id, max(n.id) as id from ${events} n
        where ${context.among(raw('n.workflow_id'), workflowIds)} and n.id > ${after} group by n.workflow_id) m
      ${context.dialect.keyedJoin} ${events} v on ${context.dialect.sameKey('v.workflow_id', 'm.workflow_id')} and v.id = m.id`,
  )
  return new Map(rows.map(row => [text(row, 'workflow_id'), { id: int(row, 'id'), type: text(row, 'type') }]))
}

export async function eventsOf(
  context: SqlContext,
  workflowIds: readonly string[],
  read: EventsRead,
): Promise<EventRecord[]> {
  if (workflowIds.length === 0) return []
  const before = read.before === undefined ? raw('') : sql` and v.id < ${read.before}`
  const rows = await context.read(
    sql`select ${eventColumns} from ${context.tables.events} v
      where ${context.among(raw('v.workflow_id'), workflowIds)} and v.id > ${read.after}${before}
      order by v.id ${raw(read.newest ? 'desc' : 'asc')} limit ${read.limit}`,
  )
  return rows.map(eventRecord)
}
