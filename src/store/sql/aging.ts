/**
 * Priority that grows with waiting, as an order that an index can keep: a row's sort key is its due time minus what its
 * priority is worth, which orders exactly like priority plus rate times waiting. A priority never counts for more than 100:
 * rows that have come so far go in the order in which they fell due, and for that their keys are written anew, once.
 */
import type { SqlContext } from './context.ts'
import { optionalText } from './decode.ts'
import type { Row } from './dialect.ts'
import { runTransaction } from './run-transaction.ts'
import { raw, type Sql, sql } from './sql.ts'

export const highestPriority = 100

/** Without aging a point is worth two years of waiting, so that the higher priority goes first. */
const withoutAging = 2 * 365 * 86_400_000_000

/** How much waiting one point of priority is worth, in microseconds. */
export function weightOf(rate: number | null): number {
  return rate === null ? withoutAging : Math.round(1_000_000 / rate)
}

/**
 * The place in line of a row that is due then, with that priority. `old`: whether it may have been due for long already; what
 * falls due now or later has not waited.
 */
export function sortKey(context: SqlContext, due: Sql, priority: Sql, old: Sql): Sql {
  const { weight, ages } = context.aging
  const key = sql`${due} - ${priority} * ${raw(String(weight))}`
  if (!ages) return key
  const best = raw(String(weight * highestPriority))
  return sql`case when ${old} and ${key} <= ${context.now} - ${best} then ${due} - ${best} else ${key} end`
}

/** The rate is stored, so that a process that says nothing goes by what others have said. */
export async function setAging(context: SqlContext, rate: number | null | undefined): Promise<void> {
  const { limits } = context.tables
  const [row] = await context.read(sql`select declared from ${limits} where ${own}`)
  const known = row === undefined ? undefined : useAging(context, row)
  if (rate === undefined || rate === known) return
  await runTransaction(context.database, async transaction => {
    context.aging = { weight: weightOf(rate), ages: rate !== null }
    await transaction.run(
      sql`update ${context.tables.active} set sort_key = ${sortKey(context, raw('due_at'), raw('priority'), raw('1 = 1'))}
        where sort_key is not null`,
    )
    await transaction.run(
      sql`update ${limits} set declared = ${JSON.stringify({ rate })}, revision = revision + 1 where ${own}`,
    )
  })
}

/** The row that belongs to no queue and no class. */
const own = raw(`scope = '' and name = '' and lane = ''`)

/** From now on this process orders by what the row says; `undefined` when it says nothing. */
export function useAging(context: SqlContext, row: Row): number | null | undefined {
  const declared = optionalText(row, 'declared')
  if (declared === null) return undefined
  const { rate } = JSON.parse(declared) as { readonly rate: number | null }
  context.aging = { weight: weightOf(rate), ages: rate !== null }
  return rate
}
