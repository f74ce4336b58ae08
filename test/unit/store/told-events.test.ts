/** Which events a row that is given to what follows tells by itself, so that nobody has to write them out. */
import { expect, it } from 'vitest'
import { saysItself } from '../../../src/store/sql/told-events.ts'
import type { Handover } from '../../../src/store/sql/write-records.ts'

const row = { id: '1', node: 'a', nodeName: null, attempt: 2, startedAt: 7 }
const next = { id: '5', node: 'b', attempt: 1, state: 'in_progress', owner: 'w1' }
const ending = { execution: row, state: 'completed', outcome: 'success', reason: null }
const handover = { row, next, ending } as unknown as Handover

const none = { from: null, by: null, reason: null, outcome: null, since: null, payload: null }
const about = ({ id, node, attempt }: typeof next | typeof row) => ({ executionId: id, node, nodeName: null, attempt })
const end = {
  ...none,
  ...about(row),
  type: 'step.completed',
  from: 'in_progress',
  to: 'completed',
  outcome: 'success',
  since: 7,
}
const begin = { ...none, ...about(next), type: 'step.started', to: 'in_progress', by: 'w1' }

const says = (...events: object[]) => saysItself(handover, events as never)

it('that it has completed and the next one has begun', () => {
  expect(says(end, begin)).toBe(true)
})

it('no more than these two, and in their order', () => {
  expect(says()).toBe(false)
  expect(says(end)).toBe(false)
  expect(says(begin, end)).toBe(false)
  expect(says(end, begin, { ...none, type: 'order.noted', payload: '1' })).toBe(false)
})

it.each(Object.keys(end))('nothing else about its end: %s', field => {
  expect(says({ ...end, [field]: field === 'attempt' || field === 'since' ? 99 : 'other' }, begin)).toBe(false)
})

it.each(Object.keys(begin))('nothing else about the beginning: %s', field => {
  expect(says(end, { ...begin, [field]: field === 'attempt' || field === 'since' ? 99 : 'other' })).toBe(false)
})
