/** Which of the attempts at a node is the latest. They are numbered without gaps at their end, so it is the one that no other follows. */
import type { SqlContext } from './context.ts'
import { type Sql, sql } from './sql.ts'

/**
 * True for a forward attempt `e` of history that is the latest. As a scalar, because a planner that takes history for small may answer
 * NOT EXISTS by reading all of it.
 */
export function isLatest({ tables }: SqlContext): Sql {
  return sql`coalesce((select 1 from ${tables.history} l where l.workflow_id = e.workflow_id and l.node = e.node
    and l.kind = 'forward' and l.attempt = e.attempt + 1 limit 1), 0) = 0`
}
