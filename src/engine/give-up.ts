/** An attempt that is given up: its dead letter is opened, and the workflow stands still until a person handles it. Pure changes to a draft. */
import type { ErrorRecord } from '../primitives/describe-error.ts'
import type { ActiveExecution, LetterReason, Outcome } from '../store/records.ts'
import type { ChangeDraft } from './change-draft.ts'
import { currentName, nameBeside, type Plan } from './plan.ts'
import { type Predecessor, repeat } from './schedule.ts'
import { holdRows } from './wind-down.ts'

export function deadLetter(
  draft: ChangeDraft,
  plan: Plan,
  row: ActiveExecution,
  {
    error,
    reason,
    outcome = 'dead_lettered',
  }: { readonly error: ErrorRecord | null; readonly reason: LetterReason; readonly outcome?: Outcome },
): void {
  draft.end(row, 'failed', outcome, { error })
  giveUp(draft, plan, row, { error, reason, why: error?.message ?? reason })
}

interface GivenUp {
  /** `null`: what is recorded with the attempt. */
  readonly error: ErrorRecord | null
  readonly reason: LetterReason
  /** Why the workflow stands still. */
  readonly why: string
}

/** An attempt that has ended is given up: its letter is opened, and its next attempt waits for that to be handled. */
export function giveUp(
  draft: ChangeDraft,
  plan: Plan,
  ended: Predecessor & { readonly id: string },
  { error, reason, why }: GivenUp,
): void {
  if (draft.state !== 'dlq') {
    holdRows(draft)
    // Who has paused it is remembered: it is held again when the letter has been handled.
    draft.moveWorkflow('dlq', { by: null, reason: why }, draft.workflow.pauseCause)
  }
  const { id: executionId, node, attempt } = ended
  const known = plan.graph.find(currentName(plan, node))
  const nodeName = known && nameBeside(known)
  draft.openLetter({ id: plan.takeId(), executionId, node, nodeName, kind: 'forward', attempt, reason, error })
  // A child that did not finish never will: another one is started, unless only workers were lost.
  const keepsInput = known?.kind !== 'child' || reason === 'crash_limit'
  repeat(draft, plan, ended, { due: { inMs: 0 }, failures: 0, crashes: 0, keepsInput })
}
