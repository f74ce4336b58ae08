/**
 * What stands still: due and not claimed, due in a paused queue, claimed by nobody alive, paused for long. Looks at rows that have not ended only,
 * so it does not matter how much history there is.
 */
import type { QueueDepth, StuckKind, StuckRow } from '../housekeeping-store.ts'
import type { SqlContext } from './context.ts'
import { int, json, optionalInt, optionalText, text } from './decode.ts'
import type { Row } from './dialect.ts'
import { rareStateCondition } from './rare-states.ts'
import { raw, type Sql, sql } from './sql.ts'

const idle = raw(`a.sort_key is not null and a.state in ('scheduled', 'suspended')`)

export async function findStuck(
  context: SqlContext,
  forMs: number,
  limit: number,
): Promise<{ readonly now: number; readonly rows: readonly StuckRow[] }> {
  const { active, history, letters, limits, workers, workflows } = context.tables
  const columns = raw('a.workflow_id, w.type, coalesce(a.node_name, a.node) as node, a.queue, a.handler, a.owner')
  const before = sql`${context.now} - ${forMs * 1000}`
  const read = async (kind: StuckKind, statement: Sql) =>
    (await context.read(statement)).map(row => stuckRow(kind, row))
  const pause = raw(`q.lane = '' and q.scope = 'queue' and q.name = a.queue and q.paused = 1`)
  const unclaimed = await read(
    'not_claimed',
    sql`select ${columns}, a.due_at as since from ${active} a join ${workflows} w on w.id = a.workflow_id
      left join ${limits} q on ${pause}
      where ${idle} and a.due_at <= ${before} and q.name is null order by a.due_at limit ${limit}`,
  )
  // Apart from the others, so that a queue in which very much waits does not hide them.
  const held = await read(
    'queue_paused',
    sql`select ${columns}, a.due_at as since, q.paused_by, q.pause_reason, q.paused_at from ${active} a
      join ${workflows} w on w.id = a.workflow_id join ${limits} q on ${pause}
      where ${idle} and a.due_at <= ${before} order by a.due_at limit ${limit}`,
  )
  const lost = await read(
    'lease_lost',
    sql`select ${columns}, coalesce(k.lease_until, a.started_at, a.due_at) as since from ${active} a
      join ${workflows} w on w.id = a.workflow_id left join ${workers} k on k.id = a.owner
      where a.owner is not null and (k.id is null or k.state <> 'alive' or k.lease_until < ${context.leaseNow})
        and coalesce(k.lease_until, a.started_at, a.due_at) <= ${context.leaseNow} - ${forMs * 1000}
      order by a.workflow_id limit ${limit}`,
  )
  const paused = await read(
    'paused',
    sql`select w.state as standing, w.id as workflow_id, w.type, coalesce((select max(h.node_name) from ${history} h where h.workflow_id = w.id and h.node = w.blocked_by), w.blocked_by,
        (select min(coalesce(l.node_name, l.node)) from ${letters} l where l.workflow_id = w.id and l.state = 'open')) as node, w.since
      from (select p.id, p.state, p.type, p.blocked_by, ${stoppedAt(context)} as since from ${workflows} p
        where p.${raw(rareStateCondition)} and p.state in ('paused', 'dlq')) w
      where w.since <= ${before} order by w.id limit ${limit}`,
  )
  const served = await servedHandlers(context)
  const classified = unclaimed.map(row =>
    served.has(row.handler ?? '') ? row : { ...row, kind: 'no_worker' as const },
  )
  const clock = await context.read(sql`select ${context.now} as database_now`)
  return { now: clock[0] ? int(clock[0], 'database_now') : 0, rows: [...classified, ...held, ...lost, ...paused] }
}

/**
 * The row knows only since when it is paused. The event by which it came into the dead letter queue is among its last, so it is
 * looked for from the end.
 */
function stoppedAt({ tables }: SqlContext): Sql {
  return sql`coalesce(p.paused_at, (select v.at from ${tables.events} v where v.workflow_id = p.id and v.to_state = p.state
    and v.execution_id is null order by v.id desc limit 1), p.created_at)`
}

function stuckRow(kind: StuckKind, row: Row): StuckRow {
  const pausedAt = optionalInt(row, 'paused_at')
  return {
    kind: row.standing === 'dlq' ? 'dlq' : kind,
    workflowId: text(row, 'workflow_id'),
    type: text(row, 'type'),
    node: optionalText(row, 'node'),
    queue: optionalText(row, 'queue'),
    handler: optionalText(row, 'handler'),
    owner: optionalText(row, 'owner'),
    since: int(row, 'since'),
    pause:
      pausedAt === null
        ? null
        : { by: optionalText(row, 'paused_by'), reason: optionalText(row, 'pause_reason'), at: pausedAt },
  }
}

/** What workers that are alive have code for. Every worker serves timers. */
async function servedHandlers(context: SqlContext): Promise<Set<string>> {
  const rows = await context.read(
    sql`select k.handlers from ${context.tables.workers} k where k.state = 'alive' and k.lease_until >= ${context.leaseNow}`,
  )
  const all = rows.flatMap(row => JSON.parse(json(row, 'handlers') ?? '[]') as string[])
  return new Set(rows.length > 0 ? [...all, '#timer'] : all)
}

export async function queueDepths(context: SqlContext): Promise<QueueDepth[]> {
  const rows = await context.read(
    sql`select a.queue, a.handler, count(*) as due, min(a.due_at) as oldest from ${context.tables.active} a
      where ${idle} and a.due_at <= ${context.now} group by a.queue, a.handler order by min(a.due_at)`,
  )
  return rows.map(row => ({
    queue: text(row, 'queue'),
    handler: text(row, 'handler'),
    due: int(row, 'due'),
    oldestDueAt: int(row, 'oldest'),
  }))
}

export async function workerCounts(context: SqlContext): Promise<{ alive: number; lapsed: number }> {
  const { leaseNow, tables } = context
  const rows = await context.read(
    sql`select coalesce(sum(case when k.lease_until >= ${leaseNow} then 1 else 0 end), 0) as alive,
      coalesce(sum(case when k.lease_until < ${leaseNow} then 1 else 0 end), 0) as lapsed
      from ${tables.workers} k where k.state = 'alive'`,
  )
  return { alive: rows[0] ? int(rows[0], 'alive') : 0, lapsed: rows[0] ? int(rows[0], 'lapsed') : 0 }
}
