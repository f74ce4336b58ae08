/** How many there are of something, up to a bound: counting stops there, so it costs the same however many there are. */
import type { SqlContext } from '../context.ts'
import { int } from '../decode.ts'
import { rareStateCondition, rareStates } from '../rare-states.ts'
import { raw, type Sql, sql } from '../sql.ts'

/** How many of the newest workflows are looked at for a state that has no index. */
const lookedAt = 4

export async function countState(
  context: SqlContext,
  state: string,
  cap: number,
): Promise<{ count: number; more: boolean }> {
  const { workflows, active } = context.tables
  const word = raw(`'${state.replace(/[^a-z_]/g, '')}'`)
  if (rareStates.includes(state)) {
    const rows = sql`select 1 as one from ${workflows} w where w.state = ${word} and w.${raw(rareStateCondition)} limit ${cap}`
    const count = await counted(context, rows)
    return { count, more: count >= cap }
  }
  const newest =
    state === 'ready'
      ? sql`select distinct a.workflow_id as id from ${active} a limit ${cap}`
      : sql`select w.id from ${workflows} w order by w.id desc limit ${cap * lookedAt}`
  const [row] = await context.read(
    sql`select count(*) as total, coalesce(sum(case when w.state = ${word} then 1 else 0 end), 0) as fitting
      from (${newest}) n join ${workflows} w on w.id = n.id`,
  )
  const [total, fitting] = row === undefined ? [0, 0] : [int(row, 'total'), int(row, 'fitting')]
  return { count: Math.min(cap, fitting), more: total >= (state === 'ready' ? cap : cap * lookedAt) || fitting >= cap }
}

export function countPerforming(context: SqlContext, cap: number): Promise<number> {
  const running = sql`select distinct a.workflow_id from ${context.tables.active} a
    where a.owner is not null and a.kind <> 'timer' and a.state = 'in_progress' limit ${cap}`
  return counted(context, running)
}

export function countOpenLetters(context: SqlContext, cap: number): Promise<number> {
  return counted(context, sql`select d.id from ${context.tables.letters} d where d.state = 'open' limit ${cap}`)
}

async function counted(context: SqlContext, rows: Sql): Promise<number> {
  const [row] = await context.read(sql`select count(*) as total from (${rows}) c`)
  return row === undefined ? 0 : int(row, 'total')
}
