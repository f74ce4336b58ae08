/** How many statements PostgreSQL gets for guards and what is written behind them. */
import { expect, it } from 'vitest'
import { guardedStatements } from '../../../src/store/postgres/guard-statements.ts'
import { oneStatement } from '../../../src/store/postgres/one-statement.ts'
import { Counted, raw, render, type Sql, sql, Together } from '../../../src/store/sql/sql.ts'

const guard = (name: string, waits = false) => ({ select: raw(`select ${name}`), count: 1, waits })
const written = [sql`insert ${1}`, sql`update ${2}`]
const writes = new Together(oneStatement(written), written)

function texts(steps: readonly (Sql | ReturnType<typeof guard>)[]) {
  const { statements, reads } = guardedStatements(steps)
  const shown = statements.map(statement => render(statement, position => `$${position}`).text)
  return { reads, statements: shown.map(text => text.replace(/\(date_part.*?::bigint/, 'time')) }
}

it('what waits for others stands alone, and the guards behind it are asked with the writes', () => {
  expect(texts([guard('lock', true), guard('row'), guard('worker'), writes])).toEqual({
    statements: [
      'select 1 / (case when (select count(*) from (select lock) g) = $1 then 1 else 0 end)',
      'with s0 as (insert $1), s1 as (update $2) select time / (case when (select count(*) from (select row) g) = $3 then case when (select count(*) from (select worker) g) = $4 then 1 else 0 end else 0 end)',
    ],
    reads: 1,
  })
})

it('a guard that waits is not asked with the writes, which must see what it has waited for', () => {
  const { statements, reads } = texts([guard('lock', true), writes])
  expect(statements).toEqual([expect.stringMatching(/^select time .*lock/), 'with s0 as (insert $1) update $2'])
  expect(reads).toBe(0)
})

it('guards behind the writes see them, and a single write stands by itself', () => {
  expect(texts([writes, guard('row')]).statements).toEqual([
    'with s0 as (insert $1) update $2',
    expect.stringMatching(/^select time .*row/),
  ])
  expect(texts([guard('row'), raw('delete')]).statements).toEqual([
    expect.stringMatching(/^select time .*row/),
    'delete',
  ])
})

it('a write that is counted is its own guard, asked last', () => {
  const counted = [new Counted(sql`insert ${1}`, 3), sql`update ${2}`]
  const together = new Together(oneStatement(counted), counted)
  expect(texts([guard('lock', true), guard('worker'), together])).toEqual({
    statements: [
      expect.stringContaining('lock'),
      'with s0 as (insert $1 returning 1), s1 as (update $2) select time / (case when (select count(*) from (select worker) g) = $3 then case when (select count(*) from (select 1 from s0) g) = $4 then 1 else 0 end else 0 end)',
    ],
    reads: 1,
  })
  expect(texts([guard('lock', true), new Counted(raw('delete'), 3), raw('insert')]).statements).toEqual([
    expect.stringMatching(/^select time .*lock/),
    'with s0 as (delete returning 1) select 1 / (case when (select count(*) from (select 1 from s0) g) = $1 then 1 else 0 end)',
    'insert',
  ])
  const both = [
    new Counted(raw('update'), 2, [raw('take s0'), raw('tell s0')]),
    new Counted(raw('delete'), 3, [raw('take s1')]),
    raw('insert'),
  ]
  expect(texts([guard('worker'), new Together(oneStatement(both), both)]).statements).toEqual([
    'with s0 as (update), s1 as (delete), s2 as (take s0), s3 as (tell s0), s4 as (take s1), s5 as (insert) select time / (case when (select count(*) from (select worker) g) = $1 then case when (select count(*) from (select 1 from s0) g) = $2 then case when (select count(*) from (select 1 from s1) g) = $3 then 1 else 0 end else 0 end else 0 end)',
  ])
  const late = [raw('insert'), new Counted(raw('delete'), 3)]
  expect(() => texts([new Together(oneStatement(late), late)])).toThrow('Only the first')
})

it('the time is told where there is no guard', () => {
  expect(texts([writes])).toEqual({ statements: ['select time as now', 'with s0 as (insert $1) update $2'], reads: 0 })
})
