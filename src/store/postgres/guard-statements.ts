/**
 * Guards in PostgreSQL, which has no statement that gives up on a condition: one that divides by zero fails, and what
 * comes behind it in the transaction with it.
 */
import { InvariantError } from '../../errors.ts'
import type { Guard } from '../sql/dialect.ts'
import { Remembered } from '../sql/remembered.ts'
import { Counted, param, raw, Sql, sql, Together } from '../sql/sql.ts'
import { oneStatement } from './one-statement.ts'

/**
 * The same throughout a transaction: that of its beginning. Not `extract`, which counts in decimals and costs five times as
 * much; as a double it is exact to the microsecond until 2106.
 */
export const transactionTime: Sql = raw("(date_part('epoch', transaction_timestamp()) * 1000000)::bigint")

export interface Guarded {
  readonly statements: readonly Sql[]
  /** The place of the statement that tells the time, in its first column. */
  readonly reads: number
}

/**
 * Guards that stand together are one statement, and so are the last of them and what is written behind them; but behind one that
 * waits for others everything is looked at afresh.
 */
export function guardedStatements(steps: readonly (Sql | Guard)[]): Guarded {
  const statements: Sql[] = []
  let open: Guard[] = []
  let reads: number | null = null
  const lastGuard = steps.findLastIndex(step => !(step instanceof Sql))
  steps.forEach((step, index) => {
    const next = steps[index + 1]
    if (step instanceof Sql) {
      statements.push(guardedWrites(open, step))
      open = []
      return
    }
    open.push(step)
    const isLast = index === lastGuard
    if (isLast) reads = statements.length
    // Its guards are asked before anything of it is written but what is counted, and all of it goes by what was there then.
    if (isLast && !step.waits && (next instanceof Together || next instanceof Counted)) return
    if (!isLast && !step.waits && !(next instanceof Sql)) return
    statements.push(guardStatement(open, isLast ? transactionTime : one))
    open = []
  })
  return reads === null ? { statements: [selectTime, ...statements], reads: 0 } : { statements, reads }
}

/** The last guards, and those of the writes themselves, are asked by the statement that they end with. */
function guardedWrites(open: readonly Guard[], step: Sql): Sql {
  const statements = step instanceof Together ? step.statements : [step]
  const counted = statements.filter(statement => statement instanceof Counted)
  const others = statements.slice(counted.length)
  if (counted.length > written.length || others.some(other => other instanceof Counted))
    throw new InvariantError('Only the first writes of several are counted.')
  if (counted.length === 0 && (open.length === 0 || !(step instanceof Together))) return step
  const guards = [...open, ...counted.map(({ count }, place) => ({ select: written[place] ?? one, count }))]
  const guard = guardStatement(guards, open.length === 0 ? one : transactionTime)
  const takers = counted.flatMap(counting => counting.takers)
  // What another write goes by is returned in any case.
  const returns = counted.map(counting => (counting.takers.length === 0 ? '1' : '')).join(' ')
  return remembered.statement(shapeOf(returns), [...counted, ...takers, ...others, guard], (...all) =>
    oneStatement(all.map((part, place) => (counted[place]?.takers.length === 0 ? sql`${part} returning 1` : part))),
  )
}

const written = [raw('select 1 from s0'), raw('select 1 from s1')]

const shapes = new Map<string, object>()

/** Tells statements apart that are made of the same parts in another way. */
function shapeOf(returns: string): object {
  const shape = shapes.get(returns) ?? { returns }
  shapes.set(returns, shape)
  return shape
}

const one = raw('1')
const selectTime = sql`select ${transactionTime} as now`

const remembered = new Remembered()

/** Fails unless each select finds so many rows; they are carried out in order. Else it tells `value`. */
function guardStatement(guards: readonly Guard[], value: Sql): Sql {
  const fragments = guards.flatMap(({ select, count }) => [select, param(count)])
  return remembered.statement(value, fragments, (...given) => {
    let all = one
    for (let index = given.length - 2; index >= 0; index -= 2) {
      const [select = one, count = one] = given.slice(index, index + 2)
      all = sql`case when (select count(*) from (${select}) g) = ${count} then ${all} else 0 end`
    }
    return sql`select ${value} / (${all})`
  })
}

/** Division by zero. No statement of ours divides by anything else. */
export function isBrokenGuard(error: unknown): boolean {
  return (error as { code?: unknown }).code === '22012'
}
