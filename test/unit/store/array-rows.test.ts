/** Sets of rows as PostgreSQL gets them: one value for all rows where they agree, arrays where they do not; few as they are. */
import { describe, expect, it } from 'vitest'
import { arrayRows } from '../../../src/store/postgres/array-rows.ts'
import { type Columns, rowSet } from '../../../src/store/sql/row-set.ts'
import { render } from '../../../src/store/sql/sql.ts'

interface Item {
  readonly id: string
  readonly name: string | null
  readonly state: string
  readonly error: string | null
  readonly queue: string
}

const columns: Columns<Item> = {
  id: ['id', item => item.id],
  name: ['text', item => item.name],
  state: ['text', item => item.state, 'course'],
  error: ['json', item => item.error, 'course'],
  queue: ['text', item => item.queue, 'code'],
}

const item = (more: Partial<Item> = {}): Item => ({
  id: '1',
  name: 'a',
  state: 'done',
  error: null,
  queue: 'q',
  ...more,
})

interface Branch {
  readonly workflowId: string
  readonly id: string
  readonly output: string | null
}

const branchColumns: Columns<Branch> = {
  workflow_id: ['id', row => row.workflowId, 'fan'],
  id: ['id', row => row.id],
  output: ['json', row => row.output, 'output'],
}

const branch = (more: Partial<Branch> = {}): Branch => ({ workflowId: '7', id: '1', output: null, ...more })

function written(items: readonly Item[], asSet = false) {
  return render(arrayRows('r', rowSet(columns, items), 'bigint', asSet), position => `$${position}`)
}

describe('a set of rows', () => {
  it('has one value for columns in which all rows agree, also where that is nothing', () => {
    expect(written([item(), item({ id: '2', name: 'b' }), item({ id: '3', name: 'c' })])).toEqual({
      text: '(select u.id, u.name, $1::text as state, $2::text::json as error, $3::text as queue from unnest($4::bigint[], $5::text[]) as u(id, name) limit $6::bigint) r',
      values: ['done', null, 'q', '{1,2,3}', '{"a","b","c"}', 3],
    })
  })

  it('has arrays for all columns of a kind as soon as one of them differs', () => {
    const { text, values } = written([item(), item({ id: '2', error: '{"a":1}' }), item({ id: '3' })])
    expect(text).toContain('u.state, u.error::json as error, $1::text as queue')
    expect(values).toEqual(['q', '{1,2,3}', '{"a","a","a"}', '{"done","done","done"}', '{NULL,"{\\"a\\":1}",NULL}', 3])
  })

  it('has as many texts as there are kinds that differ, not as there are columns', () => {
    const variants = [
      [item(), item()],
      [item(), item({ state: 'x' })],
      [item(), item({ error: '1' })],
      [item(), item({ state: 'x', error: '1' })],
      [item(), item({ queue: 'p' })],
      [item(), item({ queue: 'p', state: 'x' })],
    ]
    expect(new Set(variants.map(items => written([item(), ...items]).text)).size).toBe(4)
  })

  it('has one value for what branches of one fan have in common, where there are enough of them', () => {
    const branches = (count: number) => Array.from({ length: count }, (_, index) => branch({ id: `${index}` }))
    const text = (items: readonly Branch[]) =>
      render(arrayRows('r', rowSet(branchColumns, items), 'bigint', true), position => `$${position}`).text
    expect(text(branches(20))).toContain('$1::bigint as workflow_id, u.id, ')
    expect(text(branches(19))).toContain('u.workflow_id, u.id, ')
    expect(text([...branches(20), branch({ workflowId: '8' })])).toContain('u.workflow_id, u.id, ')
  })

  it('has one value for outputs only where there are none, so that few statements are made', () => {
    const text = (...outputs: (string | null)[]) =>
      render(
        arrayRows(
          'r',
          rowSet(
            branchColumns,
            outputs.map(output => branch({ output })),
          ),
          'bigint',
          true,
        ),
        position => `$${position}`,
      ).text
    expect(text(null, null, null)).toContain('::text::json as output')
    expect(text('1', '1', '1')).toContain('u.output::json as output')
    expect(text(null, '1', null)).toContain('u.output::json as output')
  })

  it('is no set when a row comes alone: its values stand in the statement as they are', () => {
    expect(written([item({ name: 'a"b', error: '{"a":1}' })])).toEqual({
      text: '(select $1::bigint as id, $2::text as name, $3::text as state, $4::text::json as error, $5::text as queue) r',
      values: ['1', 'a"b', 'done', '{"a":1}', 'q'],
    })
  })

  it('is a set all the same where it stands among others', () => {
    expect(written([item()], true).text).toContain('from unnest(')
  })

  it('is a list of values when there are two rows', () => {
    const set = {
      columns: { id: 'id', state: 'text' },
      rows: [
        ['1', null],
        ['2', 'x'],
      ],
    } as const
    expect(render(arrayRows('k', set, 'uuid', false), position => `$${position}`)).toEqual({
      text: '(select v.id, v.state from (values ($1::uuid, $2::text), ($3::uuid, $4::text)) v(id, state)) k',
      values: ['1', null, '2', 'x'],
    })
  })

  it.each([
    [['a"b', 'c'], '{"a\\"b","c"}'],
    [['\\', ''], '{"\\\\",""}'],
    [['NULL', null], '{"NULL",NULL}'],
    [['a,b', '{c}'], '{"a,b","{c}"}'],
    [[null, null], '{NULL,NULL}'],
  ])('keeps %j apart from what arrays are written with', (names, literal) => {
    const items = [...names, 'z'].map((name, index) => item({ id: String(index), name }))
    expect(written(items).values.at(-2)).toBe(`${literal.slice(0, -1)},"z"}`)
  })
})
