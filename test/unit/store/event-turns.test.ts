/** Many events are written type by type, and those of a workflow in their order all the same. */
import { expect, it } from 'vitest'
import type { NewEvent } from '../../../src/store/change.ts'
import { eventTurns } from '../../../src/store/sql/event-turns.ts'

const event = (workflowId: string, type: NewEvent['type']): NewEvent => ({ workflowId, type })

it('a few go together as they come', () => {
  const lists = [[event('1', 'step.completed'), event('1', 'step.started')], [event('2', 'step.completed')]]
  expect(eventTurns(lists)).toEqual([[lists.flat()]])
  expect(eventTurns([[], []])).toEqual([])
})

it('many go in turns, by type, and each workflow keeps its order', () => {
  const lists = Array.from({ length: 40 }, (_, id) => [
    event(String(id), 'step.completed'),
    event(String(id), id % 4 === 0 ? 'workflow.finished' : 'step.started'),
    ...(id === 7 ? [event('7', 'step.completed')] : []),
  ])
  const turns = eventTurns(lists)
  expect(turns.map(turn => turn.map(same => [same[0]?.type, same.length]))).toEqual([
    [['step.completed', 40]],
    [
      ['workflow.finished', 10],
      ['step.started', 30],
    ],
    [['step.completed', 1]],
  ])
  const written = turns.flat(2)
  for (const list of lists) {
    expect(written.filter(({ workflowId }) => workflowId === list[0]?.workflowId)).toEqual(list)
  }
})

it('many of one type are one turn, also those of one workflow', () => {
  const wide = Array.from({ length: 250 }, () => event('1', 'step.completed'))
  expect(eventTurns([wide, [event('2', 'step.started')]])).toEqual([[wide, [event('2', 'step.started')]]])
})

it('a workflow whose types change often is written as it comes', () => {
  const mixed = Array.from({ length: 100 }, (_, index) => event('1', index % 2 ? 'step.started' : 'step.completed'))
  expect(eventTurns([mixed])).toEqual([[mixed]])
})
