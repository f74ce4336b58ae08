/** Rows that wait for something outside, in bounded looks through the active rows: no index is kept for them. */
import type { WaitingPage, WaitingPlace, WaitingRow } from '../../view-store.ts'
import { workflowColumns } from '../columns.ts'
import type { SqlContext } from '../context.ts'
import { int, text, workflowRecord } from '../decode.ts'
import type { Row } from '../dialect.ts'
import { raw, type Sql, sql } from '../sql.ts'

export async function readWaiting(
  context: SqlContext,
  after: WaitingPlace | null,
  { limit, window }: { readonly limit: number; readonly window: number },
): Promise<WaitingPage> {
  const { active, workflows } = context.tables
  const { left, stretch } = behind(context, after, window)
  const rows = await context.read(
    sql`select a.id as execution_id, a.node, a.slot, a.attempt, coalesce(a.started_at, a.created_at) as since, ${workflowColumns}
      from ${active} a join ${workflows} w on w.id = a.workflow_id
      where a.workflow_id in (select s.id from (${stretch}) s) and ${left} and a.state = 'waiting' and a.kind = 'forward'
      order by a.workflow_id desc, a.slot limit ${limit}`,
  )
  const found = rows.map(waitingRow)
  const last = rows.at(-1)
  if (last !== undefined && rows.length === limit) {
    return { rows: found, next: { workflowId: text(last, 'w_id'), slot: text(last, 'slot') } }
  }
  const [end] = await context.read(sql`select s.id from (${stretch}) s order by s.id limit 1`)
  const [size] = await context.read(sql`select count(*) as total from (${stretch}) s`)
  const isLast = end === undefined || size === undefined || int(size, 'total') < window
  return { rows: found, next: isLast ? null : { workflowId: text(end, 'id'), slot: null } }
}

/** What is left behind a place, and the workflows that are looked at for it. */
function behind(context: SqlContext, after: WaitingPlace | null, window: number): { left: Sql; stretch: Sql } {
  const id = after === null ? null : context.id(after.workflowId)
  const slot = after?.slot ?? null
  const sign = raw(slot === null ? '<' : '<=')
  const below = id === null ? raw('1 = 1') : sql`a.workflow_id ${sign} ${id}`
  return {
    left: id === null || slot === null ? below : sql`(a.workflow_id < ${id} or a.slot > ${slot})`,
    stretch: sql`select distinct a.workflow_id as id from ${context.tables.active} a where ${below}
      order by a.workflow_id desc limit ${window}`,
  }
}

function waitingRow(row: Row): WaitingRow {
  return {
    snapshot: { workflow: workflowRecord(row), performing: false },
    executionId: text(row, 'execution_id'),
    node: text(row, 'node'),
    attempt: int(row, 'attempt'),
    since: int(row, 'since'),
  }
}
