/** Which events go with the rows that they are about, and that the others keep their place around them. */
import { expect, it } from 'vitest'
import type { SqlContext } from '../../../src/store/sql/context.ts'
import type { Turns } from '../../../src/store/sql/event-turns.ts'
import { toldByRows } from '../../../src/store/sql/told-by-rows.ts'

const takes = { dialect: { takeReturned: () => null } } as unknown as SqlContext
const takesNothing = { dialect: {} } as unknown as SqlContext

const ids = Array.from({ length: 20 }, (_, index) => String(index))
const row = (id: string) => ({ id, node: `n${id}`, nodeName: null, attempt: 1, startedAt: 7 })
const ends = ids.map(id => ({
  row: row(id),
  ending: { execution: row(id), state: 'completed', outcome: 'success', reason: null },
}))
const begins = ids.map(id => ({ ...row(`1${id}`), state: 'in_progress', owner: 'w' }))

const none = { from: null, by: null, reason: null, outcome: null, since: null, payload: null }
const about = ({ id, node, attempt }: ReturnType<typeof row>) => ({ executionId: id, node, nodeName: null, attempt })
const course = { from: 'in_progress', to: 'completed', outcome: 'success', since: 7 }
const completed = ends.map(end => ({ ...none, ...course, ...about(end.row), type: 'step.completed' }))
const started = begins.map(begin => ({ ...none, ...about(begin), type: 'step.started', to: 'in_progress', by: 'w' }))
const other = [{ ...none, type: 'workflow.finished' }]

const told = (turns: object, rows: object = { ends, begins }, context = takes) =>
  toldByRows(context, turns as Turns, rows as never)

it('what has ended is told first, and what begins in its turn', () => {
  expect(told([[completed], [other], [started], [other]])).toEqual({
    ends: true,
    begins: true,
    before: [[], [other]],
    after: [[], [other]],
  })
})

it('what is in the same turn is written all the same', () => {
  expect(
    told([
      [other, completed],
      [started, other],
    ]),
  ).toMatchObject({ before: [[other]], after: [[other]] })
})

it('ends that come after something else are written in their turn', () => {
  const turns = [[other], [completed]]
  expect(told(turns)).toEqual({ ends: false, begins: false, before: [], after: turns })
})

it('rows that have something else to say are not told by themselves, nor are some of them', () => {
  const failed = completed.with(3, { ...completed[3], type: 'step.failed' } as never)
  for (const turns of [[[failed]], [[completed.slice(1)]], [[completed.toReversed()]], [[started.slice(1)]]]) {
    expect(told(turns)).toEqual({ ends: false, begins: false, before: [], after: turns })
  }
})

it('few are written as ever', () => {
  const rows = { ends: ends.slice(1), begins: begins.slice(1) }
  expect(told([[completed.slice(1)], [started.slice(1)]], rows)).toMatchObject({ ends: false, begins: false })
})

it('so is everything where a write cannot go by what another returns', () => {
  const turns = [[completed], [started]]
  expect(told(turns, { ends, begins }, takesNothing)).toEqual({ ends: false, begins: false, before: [], after: turns })
})
