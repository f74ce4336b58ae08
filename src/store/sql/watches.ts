/**
 * Who waits for the end of which workflow. The end wakes a watcher by a timer among its rows, inserted without a lock on
 * the watcher: whoever claims the timer locks it and looks.
 */
import type { ParentKey, WorkflowRecord } from '../records.ts'
import { workflowColumns } from './columns.ts'
import type { SqlContext } from './context.ts'
import { workflowRecord } from './decode.ts'
import type { Transaction } from './dialect.ts'
import { endedStates } from './ended-states.ts'
import { retriesWithin } from './retrying.ts'
import { runTransaction } from './run-transaction.ts'
import { raw, type Sql, sql } from './sql.ts'

export interface Watch {
  readonly workflowId: string
  readonly watcherId: string
  readonly node: string
  readonly timerId: string
}

export function insertWatches(context: SqlContext, watches: readonly Watch[], filter: Sql | null): Sql {
  const rows = context.rows('r', {
    columns: { workflow_id: 'id', watcher_id: 'id', node: 'text', timer_id: 'id' },
    rows: watches.map(watch => [watch.workflowId, watch.watcherId, watch.node, watch.timerId]),
  })
  return context.dialect.insertNew(
    context.tables.watches,
    ['workflow_id', 'watcher_id', 'node', 'timer_id'],
    sql`select r.workflow_id, r.watcher_id, r.node, r.timer_id from ${rows}${filter ?? raw('')}`,
  )
}

/** Under the lock of the workflow, so that its end either comes later and wakes, or is seen here. */
export async function watch(
  context: SqlContext,
  workflowId: string,
  watcher: ParentKey,
  timerId: string,
): Promise<WorkflowRecord | null> {
  const look = async (transaction: Transaction) => {
    const { workflows } = context.tables
    const rows = await transaction.query(
      sql`select ${workflowColumns} from ${workflows} w${context.dialect.byKey}
        where w.id = ${context.id(workflowId)}${context.dialect.lock}`,
    )
    if (!rows[0]) return null
    await transaction.run(
      insertWatches(context, [{ workflowId, watcherId: watcher.workflowId, node: watcher.node, timerId }], raw('')),
    )
    await transaction.run(
      sql`update ${workflows} set watched = 1, version = version + 1 where id = ${context.id(workflowId)}`,
    )
    return workflowRecord(rows[0])
  }
  // Whoever asks is a step, which would fail because others have the workflow locked.
  return runTransaction(context.database, look, retriesWithin(Number.POSITIVE_INFINITY))
}

/**
 * A watcher that has ended needs no waking. Each watch has a timer and a slot of its own: a node may wait for its second
 * child while the first is still ending, and neither end may hide the other. No node has a name like the slot.
 * The timer has the workflow that the watcher knows, and the one that has ended, which may have gone on from it.
 */
export function insertWakes(context: SqlContext, endedIds: readonly string[]): Sql {
  const { watches, workflows, active } = context.tables
  const { now } = context
  const columns =
    'workflow_id, slot, id, node, kind, attempt, ordinal, state, queue, handler, lane, generation, priority, created_at, due_at, ' +
    'sort_key, fence, failures, crashes, start_mark, completed_iterations, runs, ancestry_hash, parents'
  return context.dialect.insertNew(
    active,
    columns.split(', '),
    sql`select u.* from (select x.watcher_id, concat('#wake/', x.timer_id) as slot, x.timer_id, x.node, 'timer' as kind, 1 as attempt,
        0 as ordinal, 'scheduled' as state, '' as queue, '#timer' as handler, '' as lane, 0 as generation, 0 as priority, ${now} as created_at,
        ${now} as due_at, ${now} as sort_key, 0 as fence, 0 as failures, 0 as crashes, 0 as start_mark,
        0 as completed_iterations, 0 as runs, '' as ancestry_hash, concat(coalesce(x.first_id, x.workflow_id), ' ', x.workflow_id) as parents
      from ${watches} x join ${workflows} w on ${context.dialect.sameKey('w.id', 'x.watcher_id')}
      where ${context.among(raw('x.workflow_id'), endedIds)} and w.state not in ${raw(endedStates)}) u`,
  )
}

/** Only for timers that were really inserted. */
export function insertWakeEvents(context: SqlContext, endedIds: readonly string[]): Sql {
  const { watches, active, events } = context.tables
  return sql`insert into ${events} (workflow_id, type, execution_id, node, attempt, to_state, at)
    select a.workflow_id, 'timer.scheduled', a.id, a.node, a.attempt, 'scheduled', ${context.now} from ${watches} x
      ${context.dialect.keyedJoin} ${active} a${context.dialect.byKey} on ${context.dialect.sameKey('a.workflow_id', 'x.watcher_id')} and a.slot = concat('#wake/', x.timer_id)
        and a.id = x.timer_id
    where ${context.among(raw('x.workflow_id'), endedIds)}`
}
