/**
 * Guards in PostgreSQL, which has no statement that gives up on a condition: one that divides by zero fails, and what it stands
 * in, or what comes behind it in the transaction, with it.
 */
import type { Guard } from '../sql/dialect.ts'
import { join, raw, type Sql, sql } from '../sql/sql.ts'

/** The same throughout a transaction: that of its beginning. */
export const transactionTime: Sql = raw('(extract(epoch from transaction_timestamp()) * 1000000)::bigint')

/** Fails unless the select finds so many rows. */
export function guardStatement({ select, count }: Guard): Sql {
  return sql`select 1 / (select case when count(*) = ${count} then 1 else 0 end from (${select}) g)`
}

/**
 * Everything as one statement. The guards are asked in order before anything is written, because the writes, which nobody
 * reads from, come last. All see the state of the moment at which the statement began; a row that a guard had to wait for is
 * looked at again as it is then, so a guard must lock what it looks at.
 */
export function guardedStatement(guards: readonly Guard[], statements: readonly Sql[]): Sql {
  const parts = [
    ...guards.map(({ select }, index) => sql`${raw(`g${index}`)} as (${select})`),
    ...statements.map((statement, index) => sql`${raw(`w${index}`)} as (${statement} returning 1)`),
  ]
  const met = guards.map(({ count }, index) => sql`(select count(*) from ${raw(`g${index}`)}) = ${count}`)
  return sql`with ${join(parts, ', ')}
    select ${transactionTime} as now, 1 / (case when ${join(met, ' and ')} then 1 else 0 end) as met`
}

/** Division by zero. No statement of ours divides by anything else. */
export function isBrokenGuard(error: unknown): boolean {
  return (error as { code?: unknown }).code === '22012'
}
