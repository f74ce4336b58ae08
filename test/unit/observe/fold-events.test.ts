/** Folding events: where a workflow and its executions stand follows from the events alone, and what does not follow is named. */
import { describe, expect, it } from 'vitest'
import { foldEvents } from '../../../src/observe/fold-events.ts'
import type { EventRecord } from '../../../src/store/records.ts'

type Line = readonly [type: string, from: string | null, to: string | null, more?: Partial<EventRecord>]

function fold(...lines: readonly Line[]) {
  return foldEvents(
    lines.map(([type, from, to, more], index) => ({
      id: String(index + 1),
      workflowId: '7',
      type,
      executionId: type.startsWith('workflow.') ? null : '8',
      node: 'charge',
      nodeName: null,
      attempt: 1,
      from,
      to,
      at: 0,
      by: null,
      reason: null,
      outcome: null,
      since: null,
      payload: null,
      ...more,
    })),
  )
}

const started: Line = ['workflow.started', null, 'ready']
const scheduled: Line = ['step.scheduled', null, 'scheduled']

describe('the fold of events', () => {
  it('of a workflow that has run to its end leads to that end', () => {
    const folded = fold(
      started,
      scheduled,
      ['step.started', 'scheduled', 'in_progress'],
      ['step.completed', 'in_progress', 'completed', { outcome: 'success' }],
      ['workflow.finished', 'ready', 'finished'],
    )
    expect(folded).toMatchObject({ state: 'finished', flaws: [] })
    expect([...folded.executions.values()]).toEqual([
      { id: '8', node: 'charge', attempt: 1, state: 'completed', isTimer: false, outcome: 'success' },
    ])
  })

  it('forgets what was taken back, and timers that are over', () => {
    expect(fold(started, scheduled, ['step.withdrawn', 'scheduled', null]).executions.size).toBe(0)
    const timer = fold(started, ['timer.scheduled', null, 'scheduled'], ['timer.canceled', 'scheduled', 'canceled'])
    expect(timer).toMatchObject({ flaws: [], state: 'ready' })
    expect(timer.executions.size).toBe(0)
  })

  it('follows a step to its new name', () => {
    const folded = fold(started, scheduled, ['step.renamed', 'scheduled', 'scheduled', { node: 'pay' }])
    expect(folded.executions.get('8')).toMatchObject({ node: 'pay', state: 'scheduled' })
  })

  it('counts dead letters that are open', () => {
    expect([...fold(started, ['letter.opened', null, null]).letters]).toEqual(['8'])
    const closed = fold(started, ['letter.opened', null, null], ['letter.requeued', null, null])
    expect(closed).toMatchObject({ flaws: [], letters: new Set() })
    expect(fold(started, ['letter.discarded', null, null]).flaws).toMatchObject([
      { problem: 'Event 2 (letter.discarded) does not follow: it closes a dead letter that was not open.' },
    ])
  })

  it('leaves out what says nothing about states', () => {
    const folded = fold(started, scheduled, ['order.shipped', null, null], ['workflow.healed', null, null])
    expect(folded).toMatchObject({ state: 'ready', flaws: [] })
    expect(folded.executions.get('8')?.state).toBe('scheduled')
  })

  it('names the event that does not follow from those before it', () => {
    const { flaws } = fold(
      started,
      ['step.completed', 'in_progress', 'completed'],
      ['workflow.resumed', 'paused', 'ready'],
    )
    expect(flaws).toEqual([
      {
        executionId: '8',
        node: 'charge',
        problem: 'Event 2 (step.completed) does not follow: it says that the execution was in_progress, which was new.',
      },
      {
        executionId: null,
        node: 'charge',
        problem: 'Event 3 (workflow.resumed) does not follow: it says that the workflow was paused, which was ready.',
      },
    ])
  })
})
