/** What a line about each of some workflows shows besides the workflow: where it stands, since when, and what went wrong. */
import type { AsideRow, WorkflowAside } from '../../view-store.ts'
import type { SqlContext } from '../context.ts'
import { int, optionalInt, optionalText, text } from '../decode.ts'
import type { Row } from '../dialect.ts'
import { grouped } from '../lock-facts.ts'
import { raw, sql } from '../sql.ts'

const rowsShown = 5

/**
 * `withErrors`: those of the ids whose newest error is wanted, because looking for it costs a look at their history. What a later
 * attempt has got over, or was left out, is no trouble any more.
 */
export async function readAsides(
  context: SqlContext,
  ids: readonly string[],
  withErrors: readonly string[],
): Promise<Map<string, WorkflowAside>> {
  if (ids.length === 0) return new Map()
  const { workflows, events, active, history } = context.tables
  const [times = [], rows = [], errors = []] = await context.snapshot([
    sql`select w.id, coalesce((select v.at from ${events} v where v.workflow_id = w.id order by v.id desc limit 1),
        w.created_at) as updated_at, (select max(b.node_name) from ${history} b where b.workflow_id = w.id
        and b.node = w.blocked_by) as blocked_by_name from ${workflows} w where ${context.among(raw('w.id'), ids)}`,
    sql`select r.* from (select a.workflow_id, coalesce(a.node_name, a.node) as name, a.queue, a.priority, a.due_at, a.completed_iterations,
        a.total_iterations, row_number() over (partition by a.workflow_id order by a.ordinal, a.slot) as place
        from ${active} a where ${context.among(raw('a.workflow_id'), ids)} and a.kind <> 'timer') r
      where r.place <= ${rowsShown} order by r.workflow_id, r.place`,
    ...(withErrors.length === 0
      ? []
      : [
          sql`select r.* from (select e.workflow_id, coalesce(e.node_name, e.node) as name, e.error_class, e.error_message,
            row_number() over (partition by e.workflow_id order by e.ended_at desc, e.id desc) as place
            from ${history} e where ${context.among(raw('e.workflow_id'), withErrors)} and e.error_class is not null
              and e.state not in ('completed', 'skipped') and not exists
                (select 1 from ${history} l where ${context.among(raw('l.workflow_id'), withErrors)} and l.workflow_id = e.workflow_id
                  and l.node = e.node and l.kind = e.kind and l.attempt = e.attempt + 1)) r
          where r.place = 1`,
        ]),
  ])
  const rowsOf = grouped(rows, asideRow)
  const errorOf = grouped(errors, row => ({
    name: text(row, 'name'),
    className: text(row, 'error_class'),
    message: text(row, 'error_message'),
  }))
  return new Map(
    times.map(row => {
      const workflowId = text(row, 'id')
      const [error = null] = errorOf.get(workflowId) ?? []
      const updatedAt = int(row, 'updated_at')
      const blockedByName = optionalText(row, 'blocked_by_name')
      return [workflowId, { workflowId, updatedAt, active: rowsOf.get(workflowId) ?? [], blockedByName, error }]
    }),
  )
}

function asideRow(row: Row): AsideRow {
  return {
    name: text(row, 'name'),
    queue: text(row, 'queue'),
    priority: int(row, 'priority'),
    dueAt: int(row, 'due_at'),
    completed: int(row, 'completed_iterations'),
    total: optionalInt(row, 'total_iterations'),
  }
}
