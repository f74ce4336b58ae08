/**
 * How long executions took and waited, and how they failed, over the newest of those that ended in a stretch of time. The
 * stretch is found by an index on the end, so history before it costs nothing; no more rows than the limit are measured.
 */
import type { FailureCount, NodeTimes, Percentiles } from '../housekeeping-store.ts'
import type { Outcome } from '../records.ts'
import type { SqlContext } from './context.ts'
import { int, optionalText, text } from './decode.ts'
import type { Row } from './dialect.ts'
import { raw, type Sql, sql } from './sql.ts'

function newest(context: SqlContext, since: number, limit: number): Sql {
  return sql`(select e.workflow_id, coalesce(e.node_name, e.node) as node, e.outcome, e.error_class, e.due_at, e.started_at, e.ended_at
    from ${context.tables.history} e where e.ended_at >= ${since} and e.kind = 'forward' and e.started_at is not null
    order by e.ended_at desc limit ${limit}) h`
}

/**
 * By the outcome: a step that was done and could not be undone is `failed` by its state, and one that has failed and was undone
 * is not.
 */
const failures: readonly Outcome[] = [
  'reattempted_by_exception',
  'paused_by_exception',
  'canceled_by_exception',
  'rolled_back_by_exception',
  'dead_lettered',
  'timed_out',
  'recovered',
  'unknown',
]
const hasFailed = (outcome: string) => `${outcome} in (${failures.map(each => `'${each}'`).join(', ')})`

/** The smallest value that so many percent do not exceed: no interpolation, and the same on every database. */
function percentiles(value: 'took' | 'waited'): string {
  const at = (percent: number) =>
    `min(case when m.${value}_rank * 100 >= m.total * ${percent} then m.${value} end) as ${value}_p${percent}`
  return `${at(50)}, ${at(95)}, ${at(99)}, max(m.${value}) as ${value}_max, sum(m.${value}) as ${value}_total`
}

export async function nodeTimes(context: SqlContext, since: number, limit: number): Promise<NodeTimes[]> {
  const measured = sql`select w.type, h.node, h.outcome, h.ended_at - h.started_at as took,
      case when h.started_at > h.due_at then h.started_at - h.due_at else 0 end as waited
    from ${newest(context, since, limit)} join ${context.tables.workflows} w on w.id = h.workflow_id`
  const ranked = sql`select t.type, t.node, t.outcome, t.took, t.waited, count(*) over (partition by t.type, t.node) as total,
      row_number() over (partition by t.type, t.node order by t.took) as took_rank,
      row_number() over (partition by t.type, t.node order by t.waited) as waited_rank from (${measured}) t`
  const rows = await context.read(
    sql`select m.type, m.node, count(*) as count, sum(case when ${raw(hasFailed('m.outcome'))} then 1 else 0 end) as failed,
      ${raw(percentiles('took'))}, ${raw(percentiles('waited'))} from (${ranked}) m group by m.type, m.node`,
  )
  return rows.map(row => ({
    type: text(row, 'type'),
    node: text(row, 'node'),
    count: int(row, 'count'),
    failed: int(row, 'failed'),
    took: percentilesOf(row, 'took'),
    waited: percentilesOf(row, 'waited'),
  }))
}

function percentilesOf(row: Row, value: string): Percentiles {
  return {
    p50: int(row, `${value}_p50`),
    p95: int(row, `${value}_p95`),
    p99: int(row, `${value}_p99`),
    max: int(row, `${value}_max`),
    total: int(row, `${value}_total`),
  }
}

export async function failureCounts(context: SqlContext, since: number, limit: number): Promise<FailureCount[]> {
  const rows = await context.read(
    sql`select w.type, h.node, h.outcome, h.error_class, count(*) as count
      from ${newest(context, since, limit)} join ${context.tables.workflows} w on w.id = h.workflow_id
      where ${raw(hasFailed('h.outcome'))} group by w.type, h.node, h.outcome, h.error_class order by count(*) desc, h.node`,
  )
  return rows.map(row => ({
    type: text(row, 'type'),
    node: text(row, 'node'),
    outcome: text(row, 'outcome'),
    errorClass: optionalText(row, 'error_class'),
    count: int(row, 'count'),
  }))
}
