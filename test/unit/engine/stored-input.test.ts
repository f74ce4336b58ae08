/** What is stored as the input of an execution: a mark of the engine, or a value of the application, and never both in doubt. */
import { expect, it } from 'vitest'
import {
  cameIn,
  childIn,
  givenIn,
  giving,
  isReconciling,
  markCame,
  markChild,
  markReconcile,
  markUndo,
  undoneBy,
  undonePlace,
} from '../../../src/engine/stored-input.ts'
import { decodeValue, encodeValue } from '../../../src/primitives/json-codec.ts'

const marks = [
  markCame({ came: 'decision', on: '1' }),
  markCame({ came: 'signal', id: '2' }),
  markCame({ came: 'nothing' }),
  markChild({ workflowId: '3', isOwn: true }),
  markChild({ workflowId: '4', isOwn: false }),
  markUndo('5'),
  markReconcile(null),
]

const read = (input: string | null) => [cameIn(input), childIn(input), undoneBy(input), isReconciling(input)]
const encoded = (value: unknown) => encodeValue(value, { what: 'it', maxBytes: 10_000 })

it('every mark is read as what it is, and as nothing that anybody gave', () => {
  expect(marks.map(read)).toEqual([
    [{ came: 'decision', on: '1' }, null, '', false],
    [{ came: 'signal', id: '2' }, null, '', false],
    [{ came: 'nothing' }, null, '', false],
    [null, { workflowId: '3', isOwn: true }, '', false],
    [null, { workflowId: '4', isOwn: false }, '', false],
    [null, null, '5', false],
    [null, null, '', true],
  ])
  expect(marks.map(givenIn)).toEqual(marks.map(() => null))
})

it('a compensation tells how far back its rollback has come, where that is known', () => {
  expect([undoneBy(markUndo('5', 17)), undonePlace(markUndo('5', 17))]).toEqual(['5', 17])
  expect(
    [...marks, null, encoded({ undoes: '5', place: 17 })].map(undonePlace).filter(place => place !== null),
  ).toEqual([])
})

it('no value is read as a mark, also if it is the text or the contents of one', () => {
  const values = marks.flatMap(mark => [JSON.parse(mark), JSON.parse(mark).value, mark, [JSON.parse(mark)]])
  for (const value of [...values, null, 0, '$geneva', { $geneva: 'mark' }]) {
    const input = encoded(value)
    expect(read(input)).toEqual([null, null, '', false])
    expect(decodeValue(givenIn(input))).toEqual(value)
  }
})

it('what was given stays beside the question whether a lost call happened, and can be replaced there', () => {
  const first = { on: new Date(0), reconcile: true }
  const lost = markReconcile(encoded(first))
  expect([isReconciling(lost), decodeValue(givenIn(lost))]).toEqual([true, first])
  expect(markReconcile(lost)).toBe(lost)
  const replaced = giving(lost, encoded(null) ?? '')
  expect([isReconciling(replaced), decodeValue(givenIn(replaced))]).toEqual([true, null])
  expect(giving(null, '7')).toBe('7')
})

it('what is read in another order of keys, as some databases store it, is the same', () => {
  const { $geneva: tag, value } = JSON.parse(markReconcile('7')) as { $geneva: string; value: object }
  expect(givenIn(JSON.stringify({ value, $geneva: tag }, null, 1))).toBe('7')
})
