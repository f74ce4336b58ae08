/** What the dashboard makes of names, sentences and values before it draws them. */
import { describe, expect, it } from 'vitest'
import { lonePoints } from '../../dashboard/src/charts/scale.ts'
import { nodeName } from '../../dashboard/src/graph/describe-node.ts'
import { sentenceParts } from '../../dashboard/src/ui/sentence-parts.ts'

describe('folded nodes', () => {
  const fold = { count: 12, states: {} }
  const named = (name: string, note: string | null = null) => nodeName({ name, note, kind: 'step', fold })

  it('are told by what their names have in common, by their job, or by the first and the last', () => {
    expect(named('mail/1 … mail/19')).toBe('mail/…')
    expect(named('apply_0 … apply_999', 'apply')).toBe('apply_…')
    expect(named('n_0 … n_9', 'resize')).toBe('resize')
    expect(named('n_0 … n_9')).toBe('n_…')
    expect(named('north … south')).toBe('north…south')
  })

  it('leave the names of single nodes alone', () => {
    expect(nodeName({ name: 'checks#join', note: null, kind: 'join', fold: null })).toBe('checks (join)')
    expect(nodeName({ name: 'a … b', note: 'job', kind: 'step', fold: null })).toBe('a … b')
  })
})

describe('a sentence from the server', () => {
  const kinds = (sentence: string) => sentenceParts(sentence).filter(({ kind }) => kind !== 'text')
  const whole = (sentence: string) =>
    sentenceParts(sentence)
      .map(({ text }) => text)
      .join('')

  it('is taken apart into moments, dead letters, workflows and text', () => {
    expect(sentenceParts('Step a waits until 2026-01-01 12:03:00 UTC, for 3 minutes more.')).toEqual([
      { kind: 'text', text: 'Step a waits until ' },
      { kind: 'time', text: '2026-01-01T12:03:00Z' },
      { kind: 'text', text: ', for 3 minutes more.' },
    ])
    expect(kinds('due 2026-01-01T12:03:00.120Z; waits for workflow 17')).toEqual([
      { kind: 'time', text: '2026-01-01T12:03:00.120Z' },
      { kind: 'workflow', text: '17' },
    ])
    expect(kinds('It failed at 2026-01-01 12:00:00 UTC; requeue or discard letter 1416, or skip the step.')).toEqual([
      { kind: 'time', text: '2026-01-01T12:00:00Z' },
      { kind: 'letter', text: '1416' },
    ])
  })

  it('keeps as text what only looks like one of them', () => {
    for (const text of [
      'Error: 2026-99-99 99:99:99 UTC.',
      'Error: schedule:nightly:2026-01-01T12:03:00.120Z is taken.',
      'Error: no letter 5, no workflow 7.',
      '',
    ]) {
      expect(kinds(text)).toEqual([])
      expect(whole(text)).toBe(text)
    }
  })
})

it('values that stand alone are points, because a line through one value is none', () => {
  const frame = { width: 102, height: 120, left: 0, bottom: 10, top: 10 }
  const points = (...values: (number | null)[]) => lonePoints(frame, values, 10).map(({ x }) => x)
  expect(points(1, null, 3, null, 4, 5)).toEqual([0, 40])
  expect(points(1, 2, 3)).toEqual([])
  expect(points(null, null)).toEqual([])
})
