/** Updates by a row that comes alone are of one table in MySQL and MariaDB, wherever that is the same as by a join. */
import { expect, it } from 'vitest'
import { mysqlStatements } from '../../../src/store/mysql/mysql-statements.ts'
import { Remembered } from '../../../src/store/sql/remembered.ts'
import { type Columns, rowSet } from '../../../src/store/sql/row-set.ts'
import { param, raw, render, type Sql, sql } from '../../../src/store/sql/sql.ts'

interface Item {
  readonly id: string
  readonly slot: string
  readonly fence: number | null
}

const columns: Columns<Item> = {
  workflow_id: ['id', item => item.id],
  slot: ['text', item => item.slot],
  fence: ['int', item => item.fence],
}
const one: Item = { id: '7', slot: 'r.fence', fence: 3 }
const same = raw('a.workflow_id = r.workflow_id and a.slot = r.slot')

function rowsOf(...items: Item[]): Sql {
  return mysqlStatements.rows('r', rowSet(columns, items), 'bigint', false)
}

function update(rows: Sql, assignments: readonly (readonly [string, Sql])[]): Sql {
  return mysqlStatements.updateFrom(raw('t'), rows, same, assignments)
}

function rendered(statement: Sql): { text: string; values: readonly unknown[] } {
  return render(statement, () => '?')
}

it('a row that comes alone is its values', () => {
  expect(rendered(rowsOf(one))).toEqual({
    text: '(select cast(? as signed) as workflow_id, cast(? as char) as slot, cast(? as signed) as fence) r',
    values: [7, 'r.fence', 3],
  })
  expect(rendered(rowsOf(one, one)).text).toContain('json_table')
})

it('an update by it has the values where columns of the set stood, and no join', () => {
  const statement = update(rowsOf(one), [
    ['fence', raw('coalesce(r.fence, a.fence + 1)')],
    ['due_at', sql`${param(5)} + r.fence + ${param(6)}`],
  ])
  expect(rendered(statement)).toEqual({
    text:
      'update t a force index (primary) set a.fence = coalesce(?, a.fence + 1), a.due_at = ? + ? + ? ' +
      'where a.workflow_id = ? and a.slot = ?',
    values: [3, 5, 3, 6, 7, 'r.fence'],
  })
})

it('what is not there is null', () => {
  const statement = update(rowsOf({ ...one, fence: null }), [['fence', raw('r.fence')]])
  expect(rendered(statement).values).toEqual([null, 7, 'r.fence'])
})

it('an update in which something reads a column that was assigned before it stays a join, which assigns all at once', () => {
  const before = update(rowsOf(one), [
    ['due_at', raw('r.fence')],
    ['sort_key', raw('a.due_at + 1')],
  ])
  expect(rendered(before).text).toMatch(/^update \(select .*\) r straight_join t a /)
  const after = update(rowsOf(one), [
    ['sort_key', raw('a.due_at + 1')],
    ['due_at', raw('r.fence')],
  ])
  expect(rendered(after).text).toMatch(/^update t a /)
})

it('one that is remembered takes the values of the next row, wherever they stand', () => {
  const remembered = new Remembered()
  const make = (item: Item) =>
    remembered.statement(make, [rowsOf(item)], rows =>
      update(rows, [
        ['fence', raw('r.fence')],
        ['slot', raw('coalesce(r.slot, r.fence)')],
      ]),
    )
  expect(make(one).values).toEqual([3, 'r.fence', 3, 7, 'r.fence'])
  expect(make({ id: '8', slot: 's', fence: 4 }).values).toEqual([4, 's', 4, 8, 's'])
})
