/**
 * The graphs that are stored with workflows. Apart from the workflows, because they may be large and are read once by each
 * process.
 */
import type { StoredFrozenGraph } from '../store.ts'
import type { SqlContext } from './context.ts'
import { json, text } from './decode.ts'
import { type Columns, rowSet } from './row-set.ts'
import { raw, type Sql, sql } from './sql.ts'

export async function frozenGraphs(
  context: SqlContext,
  workflowIds: readonly string[],
): Promise<Map<string, StoredFrozenGraph>> {
  if (workflowIds.length === 0) return new Map()
  const rows = await context.read(
    sql`select g.workflow_id, g.signature, g.graph from ${context.tables.graphs} g
      where ${context.among(raw('g.workflow_id'), workflowIds)}`,
  )
  return new Map(
    rows.map(row => [text(row, 'workflow_id'), { signature: text(row, 'signature'), graph: json(row, 'graph') ?? '' }]),
  )
}

export type GraphRow = StoredFrozenGraph & { readonly workflowId: string }

const graphColumns: Columns<GraphRow> = {
  workflow_id: ['id', row => row.workflowId],
  signature: ['text', row => row.signature],
  graph: ['json', row => row.graph],
}

export function insertGraphs(context: SqlContext, graphs: readonly GraphRow[], filter: Sql | null): Sql {
  const rows = context.rows('r', rowSet(graphColumns, graphs))
  return sql`insert into ${context.tables.graphs} (workflow_id, signature, graph)
    select r.workflow_id, r.signature, r.graph from ${rows}${filter ?? raw('')}`
}

/** The old one, if there is one, goes first. */
export function replaceGraphs(context: SqlContext, graphs: readonly GraphRow[]): Sql[] {
  const ids = graphs.map(graph => graph.workflowId)
  return [
    sql`delete from ${context.tables.graphs} where ${context.among(raw('workflow_id'), ids)}`,
    insertGraphs(context, graphs, raw('')),
  ]
}
