/**
 * Checks the rows that a crash run has left, against the journal of what really ran and the list of who was killed. It
 * reads the tables itself and knows nothing of the engine's code. What it finds wrong it says in sentences.
 */
import { groupBy } from './group-by.ts'
import { type JournalEntry, readJournal } from './journal.ts'
import type { PlainAccess, PlainRow } from './plain-access.ts'
import type { Death } from './worker-fleet.ts'

export interface HistoryRow {
  readonly id: string
  readonly workflowId: string
  readonly step: string
  readonly attempt: number
  readonly ordinal: number
  readonly state: string
  readonly outcome: string
  readonly owner: string | null
  readonly createdAt: number
  readonly startedAt: number
  readonly endedAt: number
  readonly errorClass: string | null
  /** Ids of the executions that it came after. */
  readonly parents: readonly string[]
}

export interface CrashRows {
  readonly workflows: ReadonlyMap<string, string>
  readonly history: readonly HistoryRow[]
  readonly journal: readonly JournalEntry[]
  readonly events: ReadonlyMap<string, number>
  readonly activeRows: number
}

export async function readCrashRows(access: PlainAccess): Promise<CrashRows> {
  const table = (name: string) => access.table(`geneva_drive_${name}`)
  const workflows = await access.query(`select id, state from ${table('workflows')}`)
  const history = await access.query(`select * from ${table('step_executions')} order by workflow_id, ordinal`)
  const events = await access.query(`select type, count(*) as number from ${table('events')} group by type`)
  const [active] = await access.query(`select count(*) as number from ${table('active_executions')}`)
  return {
    workflows: new Map(workflows.map(row => [String(row.id), String(row.state)])),
    history: history.map(historyRow),
    journal: await readJournal(access),
    events: new Map(events.map(row => [String(row.type), Number(row.number)])),
    activeRows: Number(active?.number),
  }
}

function historyRow(row: PlainRow): HistoryRow {
  return {
    id: String(row.id),
    workflowId: String(row.workflow_id),
    step: String(row.node),
    attempt: Number(row.attempt),
    ordinal: Number(row.ordinal),
    state: String(row.state),
    outcome: String(row.outcome),
    owner: row.owner === null ? null : String(row.owner),
    createdAt: Number(row.created_at),
    startedAt: Number(row.started_at),
    endedAt: Number(row.ended_at),
    errorClass: row.error_class === null ? null : String(row.error_class),
    parents: String(row.parents).split(' ').filter(Boolean),
  }
}

/** `steps` is the order in which every workflow must have succeeded. */
export function auditRows(rows: CrashRows, steps: readonly string[], deaths: readonly Death[]): string[] {
  const byWorkflow = groupBy(rows.history, row => row.workflowId)
  return [
    ...[...rows.workflows].flatMap(([id, state]) => (state === 'finished' ? [] : [`Workflow ${id} is ${state}.`])),
    ...(rows.activeRows === 0 ? [] : [`${rows.activeRows} active rows are left.`]),
    ...[...rows.workflows.keys()].flatMap(id => auditHistory(id, byWorkflow.get(id) ?? [], steps)),
    ...auditJournal(rows),
    ...auditEvents(rows),
    ...parkedRows(rows).flatMap(row => auditParked(row, byWorkflow.get(row.workflowId) ?? [], deaths)),
  ]
}

/** Every step succeeded once, in order; its attempts are numbered without a gap, and only the last one succeeded. */
function auditHistory(id: string, history: readonly HistoryRow[], steps: readonly string[]): string[] {
  const findings: string[] = []
  const succeeded = history.filter(row => row.outcome === 'success').map(row => row.step)
  if (succeeded.join() !== steps.join()) findings.push(`Workflow ${id} succeeded in ${succeeded.join() || 'nothing'}.`)
  for (const [step, attempts] of groupBy(history, row => row.step)) {
    const numbers = attempts.map(row => row.attempt)
    if (numbers.some((number, index) => number !== index + 1)) {
      findings.push(`Workflow ${id} step ${step} has the attempts ${numbers.join()}.`)
    }
    for (const row of attempts.slice(0, -1)) {
      if (!wasLost(row)) findings.push(`Workflow ${id} step ${step} went on after ${row.outcome}.`)
    }
  }
  const ordinals = history.map(row => row.ordinal)
  if (new Set(ordinals).size !== ordinals.length) findings.push(`Workflow ${id} has an ordinal twice.`)
  return findings
}

/** Nothing ran after its outcome was recorded, no attempt ran twice, and nothing succeeded without having run. */
export function auditJournal({ journal, history }: CrashRows): string[] {
  const late = journal.filter(entry => entry.tooLate)
  const calls = groupBy(journal, entry => entry.executionId)
  const twice = [...calls.values()].filter(entries => entries.length > 1)
  const unrun = history.filter(row => row.outcome === 'success' && !calls.has(row.id))
  return [
    ...late.map(entry => `${describe(entry)} ran after its outcome was recorded.`),
    ...twice.map(entries => `${describe(entries[0])} ran ${entries.length} times under one claim.`),
    ...unrun.map(row => `${describe(row)} succeeded without having run.`),
  ]
}

/** Every ended row and every finished workflow has exactly one event. */
export function auditEvents({ events, history, workflows }: CrashRows): string[] {
  const expected: [string, number][] = [
    ['workflow.started', workflows.size],
    ['workflow.finished', workflows.size],
    ['step.completed', history.filter(row => row.state === 'completed').length],
    ['step.failed', history.filter(row => row.state === 'failed').length],
    ['step.skipped', history.filter(row => row.state === 'skipped').length],
  ]
  return expected.flatMap(([type, number]) => {
    const found = events.get(type) ?? 0
    return found === number ? [] : [`There are ${found} events ${type}, and ${number} rows that have one.`]
  })
}

/** Its worker was lost; at the third time in a row it was given up. */
export function wasLost({ outcome, errorClass }: Pick<HistoryRow, 'outcome' | 'errorClass'>): boolean {
  return outcome === 'recovered' || (outcome === 'dead_lettered' && errorClass === 'CrashLimitError')
}

/** Rows that were given up because their worker died too often in a row. */
export function parkedRows({ history }: CrashRows): HistoryRow[] {
  return history.filter(row => row.errorClass === 'CrashLimitError')
}

/** It is right to give a row up only if its last three attempts were really killed. */
function auditParked(parked: HistoryRow, history: readonly HistoryRow[], deaths: readonly Death[]): string[] {
  const killed = new Set(deaths.flatMap(death => death.workerIds))
  const last = history.filter(row => row.step === parked.step && row.attempt <= parked.attempt).slice(-3)
  const really = last.length === 3 && last.every(row => wasLost(row) && killed.has(row.owner ?? ''))
  return really ? [] : [`${describe(parked)} was given up, but its worker was not killed three times in a row.`]
}

function describe(row: Pick<HistoryRow, 'workflowId' | 'step' | 'attempt'> | undefined): string {
  return `Workflow ${row?.workflowId} step ${row?.step} attempt ${row?.attempt}`
}

export interface Retake {
  readonly death: Death
  /** From the death to the record of it, to the next claim of the row, and to the next call of its body. */
  readonly noticedMs: number
  readonly claimedMs: number
  /** `null` when the next attempt was killed before it was called. */
  readonly calledMs: number | null
}

/** What the dead have left in mid-work, and how long it took until others had it. */
export function retakes(rows: CrashRows, deaths: readonly Death[]): Retake[] {
  const deathOf = new Map(deaths.flatMap(death => death.workerIds.map(id => [id, death] as const)))
  const key = (workflowId: string, step: string, attempt: number) => `${workflowId}/${step}/${attempt}`
  const next = new Map(rows.history.map(row => [key(row.workflowId, row.step, row.attempt), row]))
  const calls = new Map(rows.journal.map(entry => [entry.executionId, entry.at]))
  return rows.history.flatMap(row => {
    const death = wasLost(row) ? deathOf.get(row.owner ?? '') : undefined
    const again = next.get(key(row.workflowId, row.step, row.attempt + 1))
    if (!death || !again || row.errorClass !== null) return []
    const since = (micros: number) => Math.round((micros - death.at) / 1000)
    const called = calls.get(again.id)
    return [
      {
        death,
        noticedMs: since(row.endedAt),
        claimedMs: since(again.startedAt),
        calledMs: called === undefined ? null : since(called),
      },
    ]
  })
}

/** Takeovers of workers that nobody had killed: their lease lapsed because the machine was too busy. */
export function needlessTakeovers(rows: CrashRows, deaths: readonly Death[]): number {
  const killed = new Set(deaths.flatMap(death => death.workerIds))
  return rows.history.filter(row => wasLost(row) && !killed.has(row.owner ?? '')).length
}
