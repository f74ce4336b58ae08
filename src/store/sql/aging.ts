/**
 * Priority that grows with waiting, as an order that an index can keep: a row's sort key is its due time minus what its
 * priority is worth, which orders exactly like priority plus rate times waiting. A priority never counts for more than 100:
 * rows that have come so far go in the order in which they fell due, and for that their keys are written anew, once.
 */
import type { SqlContext } from './context.ts'
import { int, optionalText, text } from './decode.ts'
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
  const own = raw(`scope = '' and name = '' and lane = ''`)
  const { limits } = context.tables
  const [row] = await context.read(sql`select declared from ${limits} where ${own}`)
  const before = row === undefined ? null : optionalText(row, 'declared')
  const known = before === null ? undefined : (JSON.parse(before) as { rate: number | null }).rate
  const next = rate === undefined ? known : rate
  if (next !== undefined) context.aging = { weight: weightOf(next), ages: next !== null }
  if (rate === undefined || rate === known) return
  await runTransaction(context.database, async transaction => {
    await transaction.run(sql`update ${limits} set declared = ${JSON.stringify({ rate })} where ${own}`)
    await transaction.run(
      sql`update ${context.tables.active} set sort_key = ${sortKey(context, raw('due_at'), raw('priority'), raw('1 = 1'))}
        where sort_key is not null`,
    )
  })
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
  if (!ages) return 0
  const best = weight * highestPriority
  const [clock] = await context.read(sql`select ${context.now} as now`)
  const line = (clock === undefined ? 0 : int(clock, 'now')) - best
  let count = 0
  for (const { queue, handler } of sources) {
    const place = JSON.stringify([queue, handler])
    const from = (aged.get(place) ?? Number.MIN_SAFE_INTEGER + overlap) - overlap
    const due = sql`select a.workflow_id, a.slot from ${context.tables.active} a where a.queue = ${queue}
      and a.handler = ${handler} and a.lane = '' and a.sort_key > ${from} and a.sort_key <= ${line}
      and a.sort_key > a.due_at - ${best} and a.due_at <= ${line + best} order by a.sort_key limit ${batch}`
    for (let moved = batch; moved === batch; count += moved) moved = await rewrite(context, due, best)
    aged.set(place, line)
  }
  return count
}

async function rewrite(context: SqlContext, due: Sql, best: number): Promise<number> {
  if ((await context.read(due)).length === 0) return 0
  return runTransaction(context.database, async transaction => {
    const found = await transaction.query(sql`${due}${context.dialect.lockSkipping}`)
    if (found.length === 0) return 0
    const rows = context.rows('r', {
      columns: { workflow_id: 'id', slot: 'text' },
      rows: found.map(row => [text(row, 'workflow_id'), text(row, 'slot')]),
    })
    await transaction.run(
      context.dialect.updateFrom(
        context.tables.active,
        rows,
        raw('a.workflow_id = r.workflow_id and a.slot = r.slot and a.sort_key is not null'),
        [['sort_key', sql`a.due_at - ${best}`]],
      ),
    )
    return found.length
  })
}
