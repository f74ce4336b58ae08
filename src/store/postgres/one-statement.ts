/**
 * Several statements in one: a statement costs more to begin than most of ours have to do. All parts see what was there before
 * it; the last one is the statement itself, and is carried out first.
 */
import { join, raw, type Sql, sql } from '../sql/sql.ts'

export function oneStatement(statements: readonly Sql[]): Sql {
  const last = statements.at(-1) ?? raw('')
  const others = statements.slice(0, -1).map((statement, index) => sql`${raw(`s${index}`)} as (${statement})`)
  return sql`with ${join(others, ', ')} ${last}`
}
