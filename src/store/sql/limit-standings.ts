/** Reads limits for those who ask why something is not claimed: what has begun under each, and what holds its places. */
import type { LimitStanding, PlaceHolder } from '../limit-store.ts'
import { parseLog } from '../start-log.ts'
import type { SqlContext } from './context.ts'
import { optionalInt, optionalText, text } from './decode.ts'
import type { Row } from './dialect.ts'
import { limitRecord } from './limit-rows.ts'
import { raw, type Sql, sql } from './sql.ts'

/** Those of queues and classes, which are few, and those of the keys of the workflows. */
export function selectLimits(context: SqlContext, ids: readonly string[]): Sql {
  const { limits, workflows } = context.tables
  const whole = sql`select q.* from ${limits} q where q.lane = '' and q.scope <> ''`
  if (ids.length === 0) return whole
  return sql`${whole} union all select k.* from (select distinct w.type, w.lane from ${workflows} w
      where ${context.among(raw('w.id'), ids)} and w.lane <> '') d
    ${context.dialect.keyedJoin} ${limits} k on ${context.dialect.sameKey('k.lane', 'd.lane')} and k.scope = 'class' and k.name = d.type`
}

/** What runs is little, and where there are no limits nothing of it is read. */
export function selectHolders(context: SqlContext): Sql {
  const { active, limits } = context.tables
  return sql`select a.workflow_id, a.node, a.queue, a.handler, a.lane, a.owner, a.started_at from ${active} a
    where a.owner is not null and a.kind <> 'timer' and exists (select 1 from ${limits} q where q.lane = '' and q.scope <> '')
    order by a.started_at, a.workflow_id, a.slot`
}

export function limitStanding(row: Row): LimitStanding {
  return { ...limitRecord(row), lane: text(row, 'lane'), starts: parseLog(optionalText(row, 'starts')) }
}

export function placeHolder(row: Row): PlaceHolder {
  return {
    workflowId: text(row, 'workflow_id'),
    node: text(row, 'node'),
    queue: text(row, 'queue'),
    handler: text(row, 'handler'),
    lane: text(row, 'lane'),
    owner: text(row, 'owner'),
    startedAt: optionalInt(row, 'started_at'),
  }
}
