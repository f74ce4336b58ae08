/**
 * What becomes of a workflow when a compensation ends: the next one begins, or the workflow has ended. One that is given up
 * leaves a dead letter, and the others go on all the same. Pure.
 */
import { CrashLimitError, StepMissingError } from '../errors.ts'
import { describeError, type ErrorRecord } from '../primitives/describe-error.ts'
import type { NewExecution, UndoRow } from '../store/change.ts'
import type { ActiveExecution, LetterReason } from '../store/records.ts'
import type { ChangeDraft, EndingDetails } from './change-draft.ts'
import { crashesAfter, crashLimit } from './crash-limit.ts'
import { isEnd } from './end-watch.ts'
import { openAgain } from './open-again.ts'
import type { Plan, RunOn } from './plan.ts'
import { givenBackReason, insertCompensation, lostReason, nodeToUndo, undoNext } from './rollback.ts'
import type { StepReport } from './step-report.ts'
import { undoneBy, undonePlace } from './stored-input.ts'
import { isInCall } from './unknown-outcome.ts'

export function decideCompensated(
  draft: ChangeDraft,
  row: ActiveExecution,
  report: StepReport,
  { plan, runOn }: { readonly plan: Plan; readonly runOn: RunOn | null },
): NewExecution | null {
  switch (report.kind) {
    case 'released':
      if (report.called === false || !isInCall(row)) {
        draft.move(row, 'scheduled')
        return null
      }
      return leaveUnknown(draft, row, givenBackReason, { plan, runOn })
    case 'postpone':
      draft.move(row, 'scheduled', { due: { inMs: report.waitMs }, reason: report.reason })
      return null
    case 'threw':
      return new Failed(draft, plan, row).decide(report, runOn)
    case 'reattempt':
      draft.end(row, 'completed', 'reattempted', { reason: report.reason })
      return again(draft, plan, row, { inMs: report.waitMs })
    default:
      draft.end(row, 'completed', 'compensated', { reason: 'reason' in report ? report.reason : null })
      settle(draft, row, 'rolled_back')
      return goOn(draft, plan, runOn)
  }
}

class Failed {
  readonly #draft: ChangeDraft
  readonly #plan: Plan
  readonly #row: ActiveExecution

  constructor(draft: ChangeDraft, plan: Plan, row: ActiveExecution) {
    this.#draft = draft
    this.#plan = plan
    this.#row = row
  }

  decide(report: Extract<StepReport, { kind: 'threw' }>, runOn: RunOn | null): NewExecution | null {
    const row = this.#row
    const { error, retryMs } = report
    if (report.unknown) {
      giveUp(this.#draft, this.#plan, row, { error, reason: 'unknown_outcome' })
      return goOn(this.#draft, this.#plan, runOn)
    }
    if (retryMs !== null) {
      this.#draft.end(row, 'failed', report.timedOut ? 'timed_out' : 'reattempted_by_exception', { error })
      return again(this.#draft, this.#plan, row, { inMs: retryMs, failures: row.failures + 1 })
    }
    giveUp(this.#draft, this.#plan, row, { error, reason: 'compensation_exhausted' })
    return goOn(this.#draft, this.#plan, runOn)
  }
}

function leaveUnknown(
  draft: ChangeDraft,
  row: ActiveExecution,
  message: string,
  { plan, runOn }: { readonly plan: Plan; readonly runOn: RunOn | null },
): NewExecution | null {
  giveUp(draft, plan, row, { error: { className: 'UnknownOutcome', message, stack: null }, reason: 'unknown_outcome' })
  return goOn(draft, plan, runOn)
}

/** Its worker is dead. One that must not be called twice is left to a person, if it may have been called. */
export function decideLostCompensation(draft: ChangeDraft, row: ActiveExecution, plan: Plan): void {
  const crashes = crashesAfter(row)
  const reason = lostReason(row.owner)
  if (isInCall(row)) {
    leaveUnknown(draft, row, `${reason} in mid-call`, { plan, runOn: null })
  } else if (crashes >= crashLimit) {
    const error = { ...describeError(new CrashLimitError(row.workflowId, row.node, crashes)), stack: null }
    giveUp(draft, plan, row, { error, reason: 'crash_limit' })
    goOn(draft, plan, null)
  } else {
    draft.end(row, 'failed', 'recovered', { reason })
    again(draft, plan, row, { failures: row.failures, crashes })
  }
}

interface GivenUp {
  readonly error: ErrorRecord
  readonly reason: LetterReason
}

function giveUp(draft: ChangeDraft, plan: Plan, row: ActiveExecution, { error, reason }: GivenUp): void {
  draft.end(row, 'failed', reason === 'unknown_outcome' ? 'unknown' : 'compensation_failed', { error })
  settle(draft, row, 'failed', { error })
  const { id: executionId, node, nodeName, kind, attempt } = row
  draft.openLetter({ id: plan.takeId(), executionId, node, nodeName, kind, attempt, reason, error })
  const { rollback } = draft.workflow
  if (rollback !== null && !isEnd(draft.state)) draft.setWorkflow({ rollback: { ...rollback, givenUp: true } })
}

/** One that was requeued after the end of its workflow changes nothing about that end; others may have been, too. */
function goOn(draft: ChangeDraft, plan: Plan, runOn: RunOn | null): NewExecution | null {
  if (!isEnd(draft.state)) return undoNext(draft, plan, runOn)
  for (const row of draft.undoRows().filter(({ state }) => state === 'compensating')) {
    const undone = nodeToUndo(plan, { ...row, state: 'completed', outcome: 'success' })
    if (undone !== null) return insertCompensation(draft, plan, { ...undone, row, runOn })
    giveBack(draft, plan, row)
  }
  return null
}

/** The code has lost what undoes it since it was requeued: that is for a person again. */
function giveBack(draft: ChangeDraft, plan: Plan, row: UndoRow): void {
  const lost = new StepMissingError(draft.workflowId, draft.facts.workflow.type, `${row.node}, to undo it`)
  openAgain(draft, plan, row, { error: { ...describeError(lost), stack: null } })
}

function again(
  draft: ChangeDraft,
  plan: Plan,
  row: ActiveExecution,
  next: { readonly inMs?: number; readonly failures?: number; readonly crashes?: number },
): NewExecution | null {
  const undone = undoneRow(draft, row)
  const found = undone === null ? null : nodeToUndo(plan, { ...undone, state: 'completed', outcome: 'success' })
  if (undone === null || found === null) return goOn(draft, plan, null)
  const place = undonePlace(row.input)
  return insertCompensation(draft, plan, { ...found, row: undone, runOn: null, place, ...next })
}

function settle(
  draft: ChangeDraft,
  row: ActiveExecution,
  state: 'rolled_back' | 'failed',
  details: EndingDetails = {},
): void {
  const undone = undoneRow(draft, row)
  if (undone?.state === 'compensating') draft.moveEnded(undone, state, details)
}

function undoneRow(draft: ChangeDraft, row: ActiveExecution): UndoRow | null {
  const id = undoneBy(row.input)
  return draft.undoRows().find(candidate => candidate.id === id) ?? null
}
