/** The two tables of legal transitions, written out once more by hand: a row that is added or lost is noticed here. */
import { describe, expect, it } from 'vitest'
import {
  checkExecutionTransition,
  checkWorkflowTransition,
  executionTransitions,
  workflowTransitions,
} from '../../../src/engine/transitions.ts'
import type { ActiveState, ExecutionState, StoredWorkflowState } from '../../../src/store/records.ts'

const workflowStates: readonly StoredWorkflowState[] = [
  'ready',
  'paused',
  'dlq',
  'rolling_back',
  'finished',
  'failed',
  'canceled',
  'aborted',
]
const executionStates: readonly ExecutionState[] = [
  'scheduled',
  'in_progress',
  'suspended',
  'waiting',
  'paused',
  'completed',
  'failed',
  'skipped',
  'canceled',
]

describe('a workflow', () => {
  const legal = new Set([
    'new > ready',
    'new > finished',
    'ready > finished',
    'ready > paused',
    'ready > dlq',
    'paused > dlq',
    'dlq > ready',
    'dlq > paused',
    'dlq > finished',
    'dlq > rolling_back',
    'dlq > canceled',
    'ready > rolling_back',
    'ready > canceled',
    'paused > ready',
    'paused > finished',
    'paused > rolling_back',
    'paused > canceled',
    'rolling_back > canceled',
    'rolling_back > failed',
    'rolling_back > aborted',
    'ready > failed',
    'ready > aborted',
    'paused > failed',
    'paused > aborted',
    'dlq > failed',
    'dlq > aborted',
  ])
  const all = (['new', ...workflowStates] as const).flatMap(from => workflowStates.map(to => [from, to] as const))

  it.each(all.filter(([from, to]) => legal.has(`${from} > ${to}`)))('may go from %s to %s', (from, to) => {
    expect(() => checkWorkflowTransition('7', from, to)).not.toThrow()
  })

  it.each(all.filter(([from, to]) => !legal.has(`${from} > ${to}`)))('cannot go from %s to %s', (from, to) => {
    expect(() => checkWorkflowTransition('7', from, to)).toThrow(`Workflow 7 cannot go from ${from} to ${to}.`)
  })

  it('has no transition that is not listed here', () => {
    expect(Object.values(workflowTransitions).flat()).toHaveLength(legal.size)
  })

  it('never leaves an end', () => {
    const { finished, failed, canceled, aborted } = workflowTransitions
    expect([finished, failed, canceled, aborted].flat()).toEqual([])
  })
})

describe('an execution', () => {
  const legal = new Set([
    'new > scheduled',
    'new > in_progress',
    'new > waiting',
    'new > paused',
    'new > skipped',
    'new > completed',
    'scheduled > in_progress',
    'scheduled > paused',
    'scheduled > canceled',
    'scheduled > skipped',
    'scheduled > completed',
    'suspended > in_progress',
    'suspended > paused',
    'suspended > canceled',
    'suspended > skipped',
    'suspended > completed',
    'waiting > scheduled',
    'waiting > paused',
    'waiting > completed',
    'waiting > skipped',
    'waiting > canceled',
    'waiting > failed',
    'paused > scheduled',
    'paused > suspended',
    'paused > waiting',
    'paused > canceled',
    'paused > skipped',
    'paused > completed',
    'in_progress > scheduled',
    'in_progress > suspended',
    'in_progress > waiting',
    'in_progress > paused',
    'in_progress > completed',
    'in_progress > skipped',
    'in_progress > canceled',
    'in_progress > failed',
  ])
  const sources: readonly (ActiveState | 'new')[] = [
    'new',
    'scheduled',
    'suspended',
    'waiting',
    'paused',
    'in_progress',
  ]
  const all = sources.flatMap(from => executionStates.map(to => [from, to] as const))

  it.each(all.filter(([from, to]) => legal.has(`${from} > ${to}`)))('may go from %s to %s', (from, to) => {
    expect(() => checkExecutionTransition('8', from, to)).not.toThrow()
  })

  it.each(all.filter(([from, to]) => !legal.has(`${from} > ${to}`)))('cannot go from %s to %s', (from, to) => {
    expect(() => checkExecutionTransition('8', from, to)).toThrow(`Execution 8 cannot go from ${from} to ${to}.`)
  })

  it('has no transition that is not listed here', () => {
    expect(Object.values(executionTransitions).flat()).toHaveLength(legal.size)
  })
})

it('an illegal transition is a bug of the engine, with a code of its own', () => {
  expect(() => checkWorkflowTransition('7', 'finished', 'ready')).toThrow(
    expect.objectContaining({ code: 'INVARIANT', message: expect.stringContaining('bug in Geneva Drive') }),
  )
})
