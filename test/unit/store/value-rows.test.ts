/** Sets of rows in SQLite: as many as a statement writes are bound, however their columns differ, and none travels as JSON. */
import { expect, it } from 'vitest'
import { type Columns, rowSet } from '../../../src/store/sql/row-set.ts'
import { newColumns } from '../../../src/store/sql/write-active.ts'
import { endColumns, historyNames, knownColumns } from '../../../src/store/sql/write-records.ts'
import { mostBoundRows, valueRows } from '../../../src/store/sqlite/value-rows.ts'

/** Each row has a value of its own in every column. */
function different(names: readonly string[]): Columns<number> {
  return Object.fromEntries(names.map(name => [name, ['int', (item: number) => item, 'name']]))
}

const items = Array.from({ length: mostBoundRows }, (_, index) => index)

it.each([
  ['begin', newColumns],
  ['end', endColumns],
  ['end as they are known', knownColumns],
  ['are inserted already ended', Object.fromEntries(historyNames.map(name => [name, null]))],
])('rows that %s are bound', (_, columns) => {
  const names = Object.keys(columns)
  const { values } = valueRows('r', rowSet(different(names), items))
  expect(values).toHaveLength(1024 * (names.length + 1))
  expect(values.some(value => typeof value === 'string')).toBe(false)
})

it('more than that travel as JSON', () => {
  const twice = [...items, ...items]
  const { values } = valueRows('r', rowSet(different(Object.keys(newColumns)), twice))
  expect(values).toEqual([expect.stringMatching(/^\[\[0,/)])
})

it('an id is bound for each row, also where all have the same: told one, a planner reads all rows of its workflow', () => {
  const columns: Columns<number> = {
    workflow_id: ['id', () => '7', 'fan'],
    fence: ['int', () => 2, 'fan'],
    slot: ['text', item => `b${item}`],
  }
  const { values } = valueRows('r', rowSet(columns, items.slice(0, 32)))
  expect(values.slice(0, 7)).toEqual([2, 7, 'b0', 1, 7, 'b1', 1])
  expect(values.filter(value => value === 7)).toHaveLength(32)
})
