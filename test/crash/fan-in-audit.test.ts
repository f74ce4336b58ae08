/** Proves that the auditor of fan-ins finds what he looks for: one who finds nothing ever proves nothing. */
import { expect, it } from 'vitest'
import type { HistoryRow } from '../programs/harness/crash-audit.ts'
import { auditFanIns, coincidenceOf, type FanInRows } from '../programs/harness/fan-in-audit.ts'
import type { ExpectedFanIn, Manner } from '../programs/harness/fan-in-graphs.ts'
import { cycleOf, parentsIn, wavesOf } from '../programs/harness/fan-in-waves.ts'
import type { Death } from '../programs/harness/worker-fleet.ts'

const manners: readonly (readonly [string, Manner])[] = [
  ['a', 'return'],
  ['b', 'skip'],
  ['c', 'retry'],
  ['join', 'return'],
]
const expected: ExpectedFanIn = { workflowId: '7', nodes: new Map(manners), fanIn: 'join', parents: ['a', 'b', 'c'] }
const death: Death = { cause: 'random', pid: 1, workerIds: ['dead'], at: 0 }

function row(step: string, attempt: number, more: Partial<HistoryRow> = {}): HistoryRow {
  const fixed = { id: `${step}${attempt}`, workflowId: '7', state: 'completed', outcome: 'success', owner: 'alive' }
  const times = { ordinal: attempt, createdAt: 0, startedAt: 0, endedAt: 10 }
  return { ...fixed, ...times, step, attempt, errorClass: null, parents: [], ...more }
}

const history = [
  row('a', 1),
  row('b', 1, { state: 'skipped', outcome: 'skipped_by_flow_control', owner: 'other' }),
  row('c', 1, { state: 'failed', outcome: 'reattempted_by_exception' }),
  row('c', 2, { endedAt: 20 }),
  row('join', 1, { ordinal: 3, createdAt: 20, endedAt: 30, parents: ['a1', 'b1', 'c2'] }),
]

function rowsOf(rows: readonly HistoryRow[], more: Partial<FanInRows> = {}): FanInRows {
  const count = (state: string) => rows.filter(each => each.state === state).length
  return {
    workflows: new Map([['7', 'finished']]),
    history: rows,
    journal: rows.map(({ id, workflowId, step, attempt }) => {
      return { workflowId, executionId: id, step, attempt, pid: 1, tooLate: false, at: 0 }
    }),
    events: new Map([
      ['workflow.started', 1],
      ['workflow.finished', 1],
      ['step.completed', count('completed')],
      ['step.failed', count('failed')],
      ['step.skipped', count('skipped')],
    ]),
    activeRows: 0,
    counters: 0,
    ...more,
  }
}

const audit = (rows: readonly HistoryRow[], more: Partial<FanInRows> = {}, deaths: readonly Death[] = []) =>
  auditFanIns(rowsOf(rows, more), [expected], deaths)
const changed = (id: string, more: Partial<HistoryRow>) =>
  history.map(each => (each.id === id ? { ...each, ...more } : each))

it('finds nothing wrong with a fan-in that ran once, after parents that returned, skipped and failed once', () => {
  expect(audit(history)).toEqual([])
})

it('finds what is left over', () => {
  expect(audit(history, { workflows: new Map([['7', 'ready']]) })).toContain('Workflow 7 is ready.')
  expect(audit(history, { activeRows: 2 })).toEqual(['2 active rows are left.'])
  expect(audit(history, { counters: 1 })).toEqual(['1 counters of fan-ins are left.'])
})

it('finds a fan-in that did not run, or ran twice', () => {
  expect(audit(history.slice(0, -1))).toEqual(['Workflow 7 node join has not run.'])
  const again = row('join', 2, { ordinal: 4, createdAt: 20, parents: ['a1', 'b1', 'c2'] })
  expect(audit([...history, again])).toEqual(['Workflow 7 node join went on after success.'])
  const [first, ...others] = rowsOf(history).journal
  const twice = first ? [first, first, ...others] : []
  expect(audit(history, { journal: twice })).toEqual([
    '5 attempts made 6 calls.',
    'Workflow 7 step a attempt 1 ran 2 times under one claim.',
  ])
})

it('finds a fan-in that was due too early, or that came after the wrong attempts', () => {
  expect(audit(changed('join1', { createdAt: 19 }))).toEqual([
    'Workflow 7 fan-in join was due before 1 of its parents had ended.',
  ])
  expect(audit(changed('join1', { parents: ['a1', 'b1', 'c1'] }))).toEqual([
    'Workflow 7 fan-in join came after 3 attempts.',
  ])
})

it('finds a parent that ended in another way than it should', () => {
  expect(audit(changed('b1', { state: 'completed', outcome: 'success' }))).toContain(
    'Workflow 7 node b ended as success.',
  )
  expect(audit(changed('a1', { outcome: 'paused_by_exception' }))).toContain(
    'Workflow 7 node a ended as paused_by_exception.',
  )
})

it('forgives an attempt that was taken over only if its worker was killed', () => {
  const lost = row('a', 1, { state: 'failed', outcome: 'recovered', owner: 'dead' })
  const rows = [
    lost,
    row('a', 2, { ordinal: 2 }),
    ...history.slice(1).map(each => (each.step === 'join' ? { ...each, parents: ['a2', 'b1', 'c2'] } : each)),
  ]
  expect(audit(rows, {}, [death])).toEqual([])
  expect(audit(rows)).toEqual(['Workflow 7 node a went on after recovered.'])
  expect(coincidenceOf(rowsOf(rows), [expected], [death])).toEqual({ hits: 1, split: 1, spreadMs: [0] })
})

it('lets fan-ins of every width go in waves that the workers have room for', () => {
  const rounds = cycleOf(80)
  const waves = wavesOf(rounds)
  expect(waves.flat().toSorted((a, b) => a.width - b.width)).toEqual(rounds.toSorted((a, b) => a.width - b.width))
  expect(waves.every(wave => parentsIn(wave) <= 1000)).toBe(true)
  expect(new Set(rounds.map(round => round.width))).toEqual(new Set([2, 3, 5, 10, 50, 200, 1000]))
})
