/** Statements that are put together once, and filled with new values from then on. */
import { describe, expect, it } from 'vitest'
import { Remembered } from '../../../src/store/sql/remembered.ts'
import { param, raw, render, Sql, sql } from '../../../src/store/sql/sql.ts'

const written = (statement: Sql) => render(statement, position => `$${position}`)

describe('a remembered statement', () => {
  const kind = {}
  const rowParts = ['(values (', '), (', ')) r']
  const rows = (a: number, b: number) => new Sql(rowParts, [a, b])

  it('is built once and has the values of each time, wherever they stand and however often', () => {
    const remembered = new Remembered()
    let built = 0
    const make = (now: number, a: number, b: number) =>
      remembered.statement(kind, [param(now), rows(a, b)], (time, set) => {
        built++
        return sql`select ${time}, r.x + ${time} from ${set} where ${time} > 0`
      })
    const text = 'select $1, r.x + $2 from (values ($3), ($4)) r where $5 > 0'
    expect(written(make(9, 1, 2))).toEqual({ text, values: [9, 9, 1, 2, 9] })
    expect(written(make(8, 3, 3))).toEqual({ text, values: [8, 8, 3, 3, 8] })
    expect(built).toBe(1)
    expect(make(1, 1, 1).parts).toBe(make(2, 2, 2).parts)
  })

  it('is built anew for other texts, and for another kind', () => {
    const remembered = new Remembered()
    const of = (fragment: Sql, other = kind) => remembered.statement(other, [fragment], given => sql`select ${given}`)
    expect(written(of(param(1))).text).toBe('select $1')
    expect(written(of(raw('now()'))).text).toBe('select now()')
    expect(written(of(param(2))).values).toEqual([2])
    expect(written(remembered.statement({}, [param(3)], given => sql`delete ${given}`)).text).toBe('delete $1')
  })

  it('is built each time when it has values of its own', () => {
    const remembered = new Remembered()
    const of = (own: number) => remembered.statement(kind, [param(1)], given => sql`select ${given} + ${own}`)
    expect(written(of(2)).values).toEqual([1, 2])
    expect(written(of(3)).values).toEqual([1, 3])
  })
})
