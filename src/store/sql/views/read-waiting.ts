/** Rows that wait for something outside, in bounded looks through the active rows: no index is kept for them. */
import type { WaitingPage, WaitingRow } from '../../view-store.ts'
import { workflowColumns } from '../columns.ts'
import type { SqlContext } from '../context.ts'
import { int, text, workflowRecord } from '../decode.ts'
import type { Row } from '../dialect.ts'
import { raw, sql } from '../sql.ts'

/** A page ends with whole workflows, so that its cursor is the id of one. */
export async function readWaiting(
  context: SqlContext,
  before: string | null,
  { limit, window }: { readonly limit: number; readonly window: number },
): Promise<WaitingPage> {
  const { active, workflows } = context.tables
  const below = before === null ? raw('1 = 1') : sql`a.workflow_id < ${context.id(before)}`
  const stretch = sql`select distinct a.workflow_id as id from ${active} a where ${below} order by a.workflow_id desc limit ${window}`
  const rows = await context.read(
    sql`select a.id as execution_id, a.node, a.attempt, a.created_at as since, ${workflowColumns}
      from ${active} a join ${workflows} w on w.id = a.workflow_id
      where a.workflow_id in (select s.id from (${stretch}) s) and a.state = 'waiting' and a.kind = 'forward'
      order by a.workflow_id desc, a.slot limit ${limit}`,
  )
  const found = rows.map(waitingRow)
  if (found.length === limit) return whole(found)
  const [end] = await context.read(sql`select s.id from (${stretch}) s order by s.id limit 1`)
  const [size] = await context.read(sql`select count(*) as total from (${stretch}) s`)
  const isLast = end === undefined || size === undefined || int(size, 'total') < window
  return { rows: found, next: isLast ? null : text(end, 'id') }
}

/** The last workflow may have more rows than there was room for: it is left to the next page, unless it is the only one. */
function whole(found: readonly WaitingRow[]): WaitingPage {
  const last = found.at(-1)?.snapshot.workflow.id ?? null
  const rows = found.filter(({ snapshot }) => snapshot.workflow.id !== last)
  if (rows.length === 0) return { rows: found, next: last }
  return { rows, next: rows.at(-1)?.snapshot.workflow.id ?? null }
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
