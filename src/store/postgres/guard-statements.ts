/**
 * Guards in PostgreSQL, which has no statement that gives up on a condition: one that divides by zero fails, and what
 * comes behind it in the transaction with it.
 */
import type { Guard } from '../sql/dialect.ts'
import { raw, type Sql, sql } from '../sql/sql.ts'

/** The same throughout a transaction: that of its beginning. */
export const transactionTime: Sql = raw('(extract(epoch from transaction_timestamp()) * 1000000)::bigint')

/** Fails unless the select finds so many rows. */
export function guardStatement({ select, count }: Guard): Sql {
  return sql`select 1 / (select case when count(*) = ${count} then 1 else 0 end from (${select}) g)`
}

/** Division by zero. No statement of ours divides by anything else. */
export function isBrokenGuard(error: unknown): boolean {
  return (error as { code?: unknown }).code === '22012'
}
