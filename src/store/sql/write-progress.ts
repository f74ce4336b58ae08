/** The statement of a checkpoint, under the fence. */
import type { ActiveExecution, Progress } from '../records.ts'
import type { SqlContext } from './context.ts'
import { type Sql, sql } from './sql.ts'

/** A claim only goes forward, so that a write which was believed lost and arrives late takes nothing back. */
export function writeProgress(context: SqlContext, execution: ActiveExecution, progress: Progress): Sql {
  const cursor = context.dialect.jsonParam(progress.cursor)
  return sql`update ${context.tables.active} set cursor_value = ${cursor},
      completed_iterations = ${progress.completedIterations}, total_iterations = ${progress.total}, crashes = 0
    where workflow_id = ${context.id(execution.workflowId)} and slot = ${execution.slot}
      and id = ${context.id(execution.id)} and fence = ${execution.fence} and state = 'in_progress'
      and completed_iterations <= ${progress.completedIterations}`
}
