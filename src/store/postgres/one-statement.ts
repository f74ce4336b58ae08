/**
 * Several statements in one: a statement costs more to begin than most of ours have to do. All parts see what was there before
 * it. The last one is the statement itself. The server carries it out first, though it does not promise to: `committing.test.ts` would
 * tell if it did not.
 */
import { join, raw, type Sql, sql } from '../sql/sql.ts'

export function oneStatement(statements: readonly Sql[]): Sql {
  const last = statements.at(-1) ?? raw('')
  const others = statements.slice(0, -1).map((statement, index) => sql`${raw(`s${index}`)} as (${statement})`)
  return sql`with ${join(others, ', ')} ${last}`
}
