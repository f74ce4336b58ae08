/**
 * What becomes of work that nobody will report on: its worker died, or its time to stop is over. Pure.
 */
import { CrashLimitError } from '../errors.ts'
import { describeError } from '../primitives/describe-error.ts'
import type { ActiveExecution } from '../store/records.ts'
import type { ChangeDraft } from './change-draft.ts'
import { crashesAfter, crashLimit } from './crash-limit.ts'
import { goOnFromOvertaken } from './dead-letters.ts'
import { decideLostCompensation } from './decide-compensated.ts'
import { deadLetter } from './give-up.ts'
import { isSelective, SelectiveJoins } from './joins.ts'
import { currentName, type Plan } from './plan.ts'
import { lateReason, lostReason } from './rollback.ts'
import { passReadyJoins, recover } from './schedule.ts'
import { endUnknown, isCalledOnce, isInCall } from './unknown-outcome.ts'
import { endIfNothingRuns, pauseIfStuck, stopTimerSlot } from './wind-down.ts'

/** The row's worker is dead: the attempt failed, the next one begins. A timer simply fires elsewhere. */
export function decideTakeover(draft: ChangeDraft, row: ActiveExecution, plan: Plan): void {
  if (row.kind === 'timer') {
    draft.move(row, 'scheduled')
    return
  }
  const reason = lostReason(row.owner)
  if (row.kind === 'compensate') {
    decideLostCompensation(draft, row, plan)
    return
  }
  const { finishing, pauseCause } = draft.workflow
  if (draft.state === 'rolling_back' || finishing || pauseCause === 'finishing') {
    if (draft.state === 'rolling_back') draft.end(row, 'skipped', 'stopped', { reason })
    else draft.end(row, 'canceled', 'superseded', { reason })
    if (!draft.isHeld) endIfNothingRuns(draft, plan)
    return
  }
  if (isSelective(plan.graph) && new SelectiveJoins(draft, plan).isBeaten(currentName(plan, row.node))) {
    draft.end(row, 'canceled', 'superseded', { reason })
    passReadyJoins(draft, plan, null)
    goOnFromOvertaken(draft, plan)
    pauseIfStuck(draft)
    return
  }
  const crashes = crashesAfter(row)
  if (isInCall(row)) {
    endUnknown(draft, plan, row, { reason: `${reason} in mid-call`, crashes })
    pauseIfStuck(draft)
    return
  }
  const limit = crashes >= crashLimit ? new CrashLimitError(row.workflowId, row.node, crashes) : null
  if (limit !== null) {
    deadLetter(draft, plan, row, { error: { ...describeError(limit), stack: null }, reason: 'crash_limit' })
    return
  }
  if (isCalledOnce(plan.graph, row)) {
    // Before the call nothing was called, so the attempt goes on. But what is asked before that may have ended the process.
    draft.move(row, draft.isHeld ? 'paused' : 'scheduled', { reason, crashes })
    return
  }
  recover(draft, plan, row, { reason, crashes })
}

/** The time to stop is over: what still runs loses its claim, and the end that was asked for is there. */
export function decideStopTimer(draft: ChangeDraft, plan: Plan): void {
  draft.dropTimer(stopTimerSlot)
  const { finishing } = draft.workflow
  if (draft.state !== 'rolling_back' && !finishing) return
  const reason = lateReason
  for (const row of draft.rows().filter(each => each.state === 'in_progress')) {
    if (finishing) draft.end(row, 'canceled', 'superseded', { reason })
    else draft.end(row, 'skipped', 'stopped', { reason })
  }
  endIfNothingRuns(draft, plan)
}
