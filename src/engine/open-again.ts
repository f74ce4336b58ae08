/** A compensation that was given up and requeued comes to nothing: its step is as it was, and a letter for a person again. Pure changes to a draft. */
import type { ErrorRecord } from '../primitives/describe-error.ts'
import type { TriedUndo, UndoRow } from '../store/change.ts'
import type { ChangeDraft } from './change-draft.ts'
import type { Plan } from './plan.ts'

interface Again {
  /** Told by the event of the step. */
  readonly why?: string
  /** `null`: what is recorded with the attempt that was given up. */
  readonly error: ErrorRecord | null
}

/** One that nobody had given up, because it was tried for the first time, has no letter. */
export function openAgain(draft: ChangeDraft, plan: Plan, row: UndoRow, { why, error }: Again): void {
  draft.moveEnded(row, 'failed', why === undefined ? {} : { reason: why })
  const last = lastGivenUp(draft.triedUndos().filter(undo => undo.undoes === row.id))
  if (last === null) return
  const { node, nodeName = null } = row
  const { id: executionId, attempt, outcome } = last
  const reason = outcome === 'unknown' && error === null ? 'unknown_outcome' : 'compensation_exhausted'
  draft.openLetter({ id: plan.takeId(), executionId, node, nodeName, kind: 'compensate', attempt, reason, error })
}

function lastGivenUp(tried: readonly TriedUndo[]): TriedUndo | null {
  const givenUp = tried.filter(({ outcome }) => outcome === 'compensation_failed' || outcome === 'unknown')
  return givenUp.reduce<TriedUndo | null>((last, undo) => (undo.attempt > (last?.attempt ?? 0) ? undo : last), null)
}
