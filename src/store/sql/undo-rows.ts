/**
 * What a rollback goes by: what a workflow has done, in the order in which it was recorded, and the compensations that were
 * tried. The order is that of events, because rows of one commit share a time and clocks may step back.
 */
import type { TriedUndo, UndoFacts, UndoRow } from '../change.ts'
import type { EndedState } from '../records.ts'
import type { SqlContext } from './context.ts'
import { ancestry, int, optionalInt, optionalText, text } from './decode.ts'
import type { Executor, Row } from './dialect.ts'
import { grouped } from './lock-facts.ts'
import { raw, type Sql, sql } from './sql.ts'

export async function undoFacts(
  context: SqlContext,
  executor: Executor,
  workflowIds: readonly string[],
): Promise<Map<string, UndoFacts>> {
  if (workflowIds.length === 0) return new Map()
  const [ended, seen] = await Promise.all([
    executor.query(selectEnded(context, workflowIds)),
    executor.query(selectEnds(context, workflowIds)),
  ])
  const place = new Map(seen.map((row, index) => [text(row, 'execution_id'), index]))
  const rowsOf = grouped(ended, row => row)
  return new Map(workflowIds.map(id => [id, factsFrom(rowsOf.get(id) ?? [], place)]))
}

function factsFrom(rows: readonly Row[], place: ReadonlyMap<string, number>): UndoFacts {
  const newestFirst = (a: UndoRow, b: UndoRow) => (place.get(b.id) ?? -1) - (place.get(a.id) ?? -1)
  const forward = rows.filter(row => text(row, 'kind') === 'forward').map(undoRow)
  const tried = rows.filter(row => text(row, 'kind') === 'compensate').map(triedUndo)
  return { rows: forward.toSorted(newestFirst), tried }
}

function selectEnded(context: SqlContext, ids: readonly string[]): Sql {
  return sql`select e.workflow_id, e.id, e.node, e.node_name, e.kind, e.attempt, e.ordinal, e.state, e.outcome, e.reason, e.started_at,
      e.ancestry_hash, e.parents from ${context.tables.history} e
    where ${context.among(raw('e.workflow_id'), ids)} and e.kind in ('forward', 'compensate')`
}

function selectEnds(context: SqlContext, ids: readonly string[]): Sql {
  return sql`select v.execution_id from ${context.tables.events} v
    where ${context.among(raw('v.workflow_id'), ids)} and v.type in ('step.completed', 'step.failed', 'step.skipped')
      and v.execution_id is not null order by v.id`
}

function undoRow(row: Row): UndoRow {
  return {
    id: text(row, 'id'),
    node: text(row, 'node'),
    nodeName: optionalText(row, 'node_name'),
    attempt: int(row, 'attempt'),
    ordinal: int(row, 'ordinal'),
    state: text(row, 'state') as EndedState,
    outcome: text(row, 'outcome') as UndoRow['outcome'],
    reason: optionalText(row, 'reason'),
    startedAt: optionalInt(row, 'started_at'),
    ancestry: ancestry(row),
  }
}

function triedUndo(row: Row): TriedUndo {
  return {
    id: text(row, 'id'),
    node: text(row, 'node'),
    attempt: int(row, 'attempt'),
    outcome: text(row, 'outcome') as TriedUndo['outcome'],
    undoes: ancestry(row).parents[0] ?? '',
  }
}
