/** Proves that the auditor of crash runs finds what he looks for: one who finds nothing ever proves nothing. */
import { expect, it } from 'vitest'
import {
  auditRows,
  type CrashRows,
  type HistoryRow,
  needlessTakeovers,
  retakes,
} from '../programs/harness/crash-audit.ts'
import type { JournalEntry } from '../programs/harness/journal.ts'
import type { Death } from '../programs/harness/worker-fleet.ts'

const steps = ['one', 'two']
const death: Death = { cause: 'random', pid: 1, workerIds: ['dead'], at: 1_000_000 }

function row(step: string, attempt: number, ordinal: number, more: Partial<HistoryRow> = {}): HistoryRow {
  const fixed = { id: `${step}${attempt}`, workflowId: '7', state: 'completed', outcome: 'success', owner: 'alive' }
  return {
    ...fixed,
    step,
    attempt,
    ordinal,
    parents: [],
    createdAt: 0,
    startedAt: 0,
    endedAt: 0,
    errorClass: null,
    ...more,
  }
}

function call(step: string, attempt: number, more: Partial<JournalEntry> = {}): JournalEntry {
  return { workflowId: '7', executionId: `${step}${attempt}`, step, attempt, pid: 2, tooLate: false, at: 0, ...more }
}

const killed = { state: 'failed', outcome: 'recovered', owner: 'dead' }

/** Step `one` was killed once; everything else went well. */
const sound: CrashRows = {
  workflows: new Map([['7', 'finished']]),
  history: [
    row('one', 1, 1, { ...killed, endedAt: 1_200_000 }),
    row('one', 2, 2, { startedAt: 1_300_000 }),
    row('two', 1, 3),
  ],
  journal: [call('one', 1), call('one', 2, { at: 1_400_000 }), call('two', 1)],
  events: new Map([
    ['workflow.started', 1],
    ['workflow.finished', 1],
    ['step.completed', 2],
    ['step.failed', 1],
  ]),
  activeRows: 0,
}

const audit = (more: Partial<CrashRows>) => auditRows({ ...sound, ...more }, steps, [death])

it('finds nothing wrong with a run in which a killed step was taken over', () => {
  expect(audit({})).toEqual([])
})

it('finds a workflow that has not finished, and rows that are left', () => {
  expect(audit({ workflows: new Map([['7', 'ready']]) })).toEqual(['Workflow 7 is ready.'])
  expect(audit({ activeRows: 1 })).toEqual(['1 active rows are left.'])
})

it('finds a step that is missing, out of order or recorded twice', () => {
  const [lost, one, two] = sound.history as [HistoryRow, HistoryRow, HistoryRow]
  const events = new Map(sound.events)
  expect(audit({ history: [lost, one], events: events.set('step.completed', 1) })).toEqual([
    'Workflow 7 succeeded in one.',
  ])
  events.set('step.completed', 2)
  expect(audit({ history: [lost, two, one] })).toContain('Workflow 7 succeeded in two,one.')
  const again = row('two', 2, 4)
  const found = audit({ history: [...sound.history, again], journal: [...sound.journal, call('two', 2)] })
  expect(found).toContain('Workflow 7 succeeded in one,two,two.')
  expect(found).toContain('Workflow 7 step two went on after success.')
})

it('finds a gap in the attempts, and an ordinal that was given twice', () => {
  const history = sound.history.map(each => (each.id === 'one2' ? { ...each, attempt: 3 } : each))
  expect(audit({ history })).toEqual(['Workflow 7 step one has the attempts 1,3.'])
  const ordinals = sound.history.map(each => ({ ...each, ordinal: Math.min(each.ordinal, 2) }))
  expect(audit({ history: ordinals })).toEqual(['Workflow 7 has an ordinal twice.'])
})

it('finds a body that ran too late, twice under one claim, or not at all', () => {
  expect(audit({ journal: [...sound.journal, call('two', 2, { tooLate: true })] })).toEqual([
    'Workflow 7 step two attempt 2 ran after its outcome was recorded.',
  ])
  expect(audit({ journal: [...sound.journal, call('two', 1)] })).toEqual([
    'Workflow 7 step two attempt 1 ran 2 times under one claim.',
  ])
  expect(audit({ journal: sound.journal.slice(0, 2) })).toEqual([
    'Workflow 7 step two attempt 1 succeeded without having run.',
  ])
})

it('finds an event that is missing or too many', () => {
  const events = new Map([...sound.events, ['step.completed', 3] as const])
  expect(audit({ events })).toEqual(['There are 3 events step.completed, and 2 rows that have one.'])
})

it('finds a step that was given up without having been killed three times', () => {
  const limit = { errorClass: 'CrashLimitError' }
  const tries = (owners: string[]) => [
    ...owners.map((owner, index) =>
      row('one', index + 1, index + 1, { ...killed, owner, ...(index === 2 ? limit : {}) }),
    ),
    row('one', 4, 4),
    row('two', 1, 5),
  ]
  const journal = [1, 2, 3, 4].map(attempt => call('one', attempt)).concat(call('two', 1))
  const events = new Map([...sound.events, ['step.failed', 3] as const])
  expect(audit({ history: tries(['dead', 'dead', 'dead']), journal, events })).toEqual([])
  expect(audit({ history: tries(['dead', 'alive', 'dead']), journal, events })).toEqual([
    'Workflow 7 step one attempt 3 was given up, but its worker was not killed three times in a row.',
  ])
})

it('tells how long the work of the dead lay about, and what was taken from the living', () => {
  expect(retakes(sound, [death])).toEqual([{ death, noticedMs: 200, claimedMs: 300, calledMs: 400 }])
  expect(needlessTakeovers(sound, [death])).toBe(0)
  expect(needlessTakeovers(sound, [])).toBe(1)
})
