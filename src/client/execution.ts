/**
 * An execution as people see it: one attempt at a step, whether it has ended or not.
 */
import { keptAttempts } from '../engine/plan.ts'
import type { ErrorRecord } from '../primitives/describe-error.ts'
import { decodeValue } from '../primitives/json-codec.ts'
import { toDate, toOptionalDate } from '../primitives/to-date.ts'
import type { ActiveExecution, EndedExecution, EventRecord, ExecutionState, Outcome } from '../store/records.ts'
import { progressOf, type StepProgress } from './step-progress.ts'

export interface Execution {
  readonly id: string
  /** What people call the step. */
  readonly step: string
  /** The id of its node: the same as the name, but in graphs that were built at run time. */
  readonly node: string
  readonly attempt: number
  /** How many attempts before this one are no longer kept, because the step reattempts itself again and again. */
  readonly dropped: number
  readonly state: ExecutionState
  /** How it ended; `null` while it has not. */
  readonly outcome: Outcome | null
  /** When the attempt came to be. It has waited from then on, whatever for, until a worker had it. */
  readonly createdAt: Date
  readonly scheduledFor: Date
  readonly startedAt: Date | null
  readonly endedAt: Date | null
  readonly error: ErrorRecord | null
  readonly reason: string | null
  /** The worker that runs it, or ran it last; `null` where none has. */
  readonly owner: string | null
  /** Proof of what came before: a hash over step, attempt and the hashes of its parents. `verifyHistory()` recomputes it. */
  readonly ancestryHash: string
  /** The executions that it came after, by their ids: the latest attempts of what its step depends on. */
  readonly parents: readonly string[]
  /** How far a resumable step has come; `null` for any other. */
  readonly progress: StepProgress | null
}

/** What a picture of a workflow needs of its executions. */
export type DrawnExecution = Omit<Execution, 'createdAt' | 'owner' | 'ancestryHash' | 'parents'>

export type ExecutionRow = ActiveExecution | EndedExecution

/** What is needed besides the rows to tell how far they have come. */
export interface ProgressFacts {
  isResumable(row: ExecutionRow): boolean
  /** The time of the database; `null` where no row needs it. */
  readonly now: number | null
}

/** A line of the record of one workflow. */
export interface WorkflowEvent extends Omit<EventRecord, 'nodeName' | 'at' | 'since' | 'payload'> {
  /** What people call the node. */
  readonly name: string | null
  readonly at: Date
  /** What a step has emitted; the class and message of the error that it ended with. */
  readonly payload: unknown
}

/** The attempts in order: `rows` are shown, `earlier` only tells what they took over. */
export function executionsFrom(
  rows: readonly ExecutionRow[],
  facts: ProgressFacts,
  earlier: readonly EndedExecution[] = [],
): Execution[] {
  const attempts = new Map([...earlier, ...rows].map(row => [keyOf(row.node, row.attempt), row]))
  const kept = new Map<string, number>()
  for (const row of rows) if ('endedAt' in row) kept.set(row.node, (kept.get(row.node) ?? 0) + 1)
  return rows.map(row => {
    const before = attempts.get(keyOf(row.node, row.attempt - 1)) ?? null
    const isFirst = before === null && (kept.get(row.node) ?? 0) >= keptAttempts
    const dropped = isFirst ? row.attempt - 1 - keptBefore(row, [...earlier, ...rows]) : 0
    return { ...fromRow(row), dropped, progress: facts.isResumable(row) ? progressOf(row, before, facts.now) : null }
  })
}

/** The last attempt before a gap: what earlier rounds have done is kept. */
function keptBefore({ node, attempt }: ExecutionRow, rows: readonly ExecutionRow[]): number {
  return rows.reduce(
    (last, row) => (row.node === node && row.attempt < attempt ? Math.max(last, row.attempt) : last),
    0,
  )
}

function keyOf(node: string, attempt: number): string {
  return JSON.stringify([node, attempt])
}

function fromRow(row: ExecutionRow): Omit<Execution, 'progress' | 'dropped'> {
  const end = 'endedAt' in row ? row : null
  return {
    id: row.id,
    step: row.nodeName ?? row.node,
    node: row.node,
    attempt: row.attempt,
    state: row.state,
    outcome: end?.outcome ?? null,
    createdAt: toDate(row.createdAt),
    scheduledFor: toDate(row.dueAt),
    startedAt: toOptionalDate(row.startedAt),
    endedAt: toOptionalDate(end?.endedAt ?? null),
    error: end?.error ?? null,
    reason: end?.reason ?? null,
    owner: row.owner,
    ancestryHash: row.ancestry.hash,
    parents: row.ancestry.parents,
  }
}

export function fromEvent(row: EventRecord): WorkflowEvent {
  const { since: _since, nodeName, payload, at, ...rest } = row
  return { ...rest, name: nodeName ?? row.node, at: toDate(at), payload: decodeValue(payload) ?? null }
}
