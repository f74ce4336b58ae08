/**
 * Priority that grows with waiting, as an order that an index can keep: a row's sort key is its due time minus what its
 * priority is worth, which orders exactly like priority plus rate times waiting. A priority never counts for more than 100:
 * rows that have come so far go in the order in which they fell due, and for that their keys are written anew, once.
 */
import type { SqlContext } from './context.ts'
import { int, optionalText, text } from './decode.ts'
import type { Row } from './dialect.ts'
import { runTransaction } from './run-transaction.ts'
import { join, raw, type Sql, sql } from './sql.ts'

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

const batch = 500
/** What was locked for a moment is looked at again. */
const overlap = 10_000_000

/**
 * Rows become capped in the order of their sort keys, so it is enough to look at those that have passed the line since the last
 * time. `aged` remembers that line for each source.
 */
export async function ageCapped(
  context: SqlContext,
  sources: readonly { readonly queue: string; readonly handler: string }[],
  aged: Map<string, number>,
): Promise<number> {
  const { weight, ages } = context.aging
  if (!ages || sources.length === 0) return 0
  const best = weight * highestPriority
  const [clock] = await context.read(sql`select ${context.now} as now`)
  const line = (clock === undefined ? 0 : int(clock, 'now')) - best
  const placeOf = (source: { queue: string; handler: string }) => JSON.stringify([source.queue, source.handler])
  const passed = sources.map((source, index) => {
    const before = aged.get(placeOf(source))
    // A clock that was set back has lines to pass again.
    const from = before === undefined || before > line ? Number.MIN_SAFE_INTEGER : before - overlap
    return sql`select * from (select a.workflow_id, a.slot from ${context.tables.active} a where a.queue = ${source.queue}
      and a.handler = ${source.handler} and a.lane = '' and a.sort_key > ${from} and a.sort_key <= ${line}
      and a.sort_key > a.due_at - ${best} and a.due_at <= ${line + best} order by a.sort_key limit ${batch})
      ${raw(`p${index}`)}`
  })
  let count = 0
  for (let moved = batch; moved >= batch; count += moved) {
    moved = await rewrite(context, await context.read(join(passed, ' union all ')), best)
  }
  for (const source of sources) aged.set(placeOf(source), line)
  return count
}

/** What somebody holds is claimed or changed just now; if it still stands in line after that, it is found again. */
async function rewrite(context: SqlContext, found: readonly Row[], best: number): Promise<number> {
  if (found.length === 0) return 0
  const keys = (rows: readonly Row[]) =>
    context.rows('r', {
      columns: { workflow_id: 'id', slot: 'text' },
      rows: rows.map(row => [text(row, 'workflow_id'), text(row, 'slot')]),
    })
  const on = context.sameRow
  return runTransaction(context.database, async transaction => {
    const locked = await transaction.query(
      sql`select a.workflow_id, a.slot from ${keys(found)} ${context.dialect.keyedJoin} ${context.tables.active} a on ${on}
        where a.sort_key > a.due_at - ${best} and a.due_at <= ${context.now}${context.dialect.lockSkipping}`,
    )
    if (locked.length === 0) return 0
    const assignments = [['sort_key', sql`a.due_at - ${best}`]] as const
    await transaction.run(context.dialect.updateFrom(context.tables.active, keys(locked), on, assignments))
    return locked.length
  })
}
