/** docs/reference/outcomes.md names every state and outcome that the code has, and no other. */
import { expect, it } from 'vitest'
import { executionTransitions } from '../../src/engine/transitions.ts'
import { quoted, readPage, tableUnder, unionIn } from './markdown.ts'

const page = readPage('docs/reference/outcomes.md')
const records = 'src/store/records.ts'

it('every state of a workflow is described', () => {
  expect(firstColumn('States of a workflow').toSorted()).toEqual(
    ['performing', ...unionIn(records, 'StoredWorkflowState')].toSorted(),
  )
})

it('every state of an execution is described', () => {
  expect(firstColumn('States of an execution').toSorted()).toEqual(
    [...unionIn(records, 'ActiveState'), ...unionIn(records, 'EndedState')].toSorted(),
  )
})

it('every outcome is described, with states that an execution can end in', () => {
  expect(firstColumn('Outcomes').toSorted()).toEqual(unionIn(records, 'Outcome').toSorted())
  const ends = new Set(unionIn(records, 'EndedState'))
  const states = tableUnder(page, 'Outcomes').flatMap(([, state]) => quoted(state))
  expect(states.filter(state => !ends.has(state) || !reachable(state))).toEqual([])
})

function firstColumn(heading: string): string[] {
  return tableUnder(page, heading).flatMap(([name]) => quoted(name))
}

function reachable(state: string): boolean {
  return Object.values(executionTransitions).some(ends => ends.some(end => end === state))
}
