/**
 * Everything that is stored about workflows, for those who compare it. With a lock on the workflow and its rows nothing that
 * belongs together can be seen half.
 */
import type { WorkflowFile } from '../event-store.ts'
import { activeColumns, endedColumns, eventColumns, workflowColumns } from './columns.ts'
import type { SqlContext } from './context.ts'
import { activeExecution, endedExecution, eventRecord, int, text, workflowRecord } from './decode.ts'
import type { Executor } from './dialect.ts'
import { letterRecord, selectOpenLetters } from './letters.ts'
import { grouped } from './lock-facts.ts'
import { runTransaction } from './run-transaction.ts'
import { raw, sql } from './sql.ts'

export function inspect(context: SqlContext, workflowIds: readonly string[], locked: boolean): Promise<WorkflowFile[]> {
  if (workflowIds.length === 0) return Promise.resolve([])
  const { database } = context
  return locked
    ? runTransaction(database, transaction => readFiles(context, transaction, workflowIds, true))
    : readFiles(context, { query: statement => context.read(statement) }, workflowIds, false)
}

/** So that nobody has to hold more in memory than he can. */
export async function countEvents(context: SqlContext, workflowIds: readonly string[]): Promise<Map<string, number>> {
  const rows = await context.read(
    sql`select v.workflow_id, count(*) as events from ${context.tables.events} v
      where ${context.among(raw('v.workflow_id'), workflowIds)} group by v.workflow_id`,
  )
  return new Map(rows.map(row => [text(row, 'workflow_id'), int(row, 'events')]))
}

/** Events come last: a row that is seen has its event by then. */
async function readFiles(
  context: SqlContext,
  executor: Pick<Executor, 'query'>,
  ids: readonly string[],
  locked: boolean,
): Promise<WorkflowFile[]> {
  const { tables, dialect } = context
  const lock = locked ? dialect.lock : raw('')
  const workflows = await executor.query(
    sql`select ${workflowColumns} from ${tables.workflows} w${dialect.byKey}
      where ${context.among(raw('w.id'), ids)} order by w.id${lock}`,
  )
  const active = await executor.query(
    sql`select ${activeColumns}, case when a.sort_key is null then 0 else 1 end as claimable, case when a.owner is not null
        and not exists (select 1 from ${tables.workers} k where k.id = a.owner) then 1 else 0 end as orphaned
      from ${tables.active} a${dialect.byKey} where ${context.among(raw('a.workflow_id'), ids)}${lock}`,
  )
  const history = await executor.query(
    sql`select ${endedColumns} from ${tables.history} e where ${context.among(raw('e.workflow_id'), ids)}
      order by e.ordinal, e.ended_at, e.attempt`,
  )
  const fanIns = await executor.query(
    sql`select f.workflow_id, f.node, f.open_parents from ${tables.fanIns} f
      where ${context.among(raw('f.workflow_id'), ids)}`,
  )
  const letters = await executor.query(selectOpenLetters(context, ids))
  const events = await executor.query(
    sql`select ${eventColumns} from ${tables.events} v where ${context.among(raw('v.workflow_id'), ids)} order by v.id`,
  )
  const activeOf = grouped(active, row => ({
    row: activeExecution(row),
    claimable: int(row, 'claimable') === 1,
    orphaned: int(row, 'orphaned') === 1,
  }))
  const historyOf = grouped(history, endedExecution)
  const lettersOf = grouped(letters, letterRecord)
  const eventsOf = grouped(events, eventRecord)
  const fanInsOf = grouped(fanIns, row => [text(row, 'node'), int(row, 'open_parents')] as const)
  return workflows.map(row => {
    const workflow = workflowRecord(row)
    const rows = activeOf.get(workflow.id) ?? []
    return {
      workflow,
      active: rows.map(each => each.row),
      claimable: new Set(rows.filter(each => each.claimable).map(each => each.row.id)),
      orphaned: new Set(rows.filter(each => each.orphaned).map(each => each.row.id)),
      history: historyOf.get(workflow.id) ?? [],
      letters: lettersOf.get(workflow.id) ?? [],
      events: eventsOf.get(workflow.id) ?? [],
      fanIns: new Map(fanInsOf.get(workflow.id) ?? []),
    }
  })
}
