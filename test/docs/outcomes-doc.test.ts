/** docs/reference/outcomes.md names every state and outcome that the code has, and no other; what it says of events holds. */
import { expect, it } from 'vitest'
import { executionTransitions } from '../../src/engine/transitions.ts'
import { Workflow } from '../../src/index.ts'
import { workflowStates } from '../../src/store/records.ts'
import { testGeneva } from '../../src/testing.ts'
import { quoted, readPage, tableUnder, unionIn } from './markdown.ts'

const page = readPage('docs/reference/outcomes.md')
const records = 'src/store/records.ts'

it('every state of a workflow is described', () => {
  expect(firstColumn('States of a workflow').toSorted()).toEqual(workflowStates.toSorted())
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

class Chain extends Workflow {
  static {
    this.step('first')
    this.step('second')
  }
  first() {}
  second() {}
}

it('the event of every step that starts names its worker, also where one step runs on after another', async () => {
  await using kit = await testGeneva({ workflows: [Chain] })
  const workflow = await kit.start(Chain)
  await kit.geneva.runDue()
  const started = (await workflow.events()).filter(event => event.type === 'step.started')
  expect(started.map(event => [event.node, typeof event.by])).toEqual([
    ['first', 'string'],
    ['second', 'string'],
  ])
})

function firstColumn(heading: string): string[] {
  return tableUnder(page, heading).flatMap(([name]) => quoted(name))
}

function reachable(state: string): boolean {
  return Object.values(executionTransitions).some(ends => ends.some(end => end === state))
}
