/**
 * What becomes of work that nobody will report on: its worker died, or its time to stop is over. Pure.
 */
import { CrashLimitError } from '../errors.ts'
import { describeError } from '../primitives/describe-error.ts'
import type { ActiveExecution } from '../store/records.ts'
import type { ChangeDraft } from './change-draft.ts'
import { deadLetter } from './dead-letters.ts'
import type { Plan } from './plan.ts'
import { repeat } from './schedule.ts'
import { endIfNothingRuns, stopTimerSlot } from './wind-down.ts'

/** How many takeovers in a row a step survives. */
export const crashLimit = 3
/** After so many the next one is the last. */
export const lastChance = crashLimit - 1

/** The row's worker is dead: the attempt failed, the next one begins. A timer simply fires elsewhere. */
export function decideTakeover(draft: ChangeDraft, row: ActiveExecution, plan: Plan): void {
  if (row.kind === 'timer') {
    draft.move(row, 'scheduled')
    return
  }
  const reason = `worker ${row.owner} was lost`
  const { finishing, pauseCause } = draft.workflow
  if (draft.state === 'rolling_back' || finishing || pauseCause === 'finishing') {
    if (draft.state === 'rolling_back') draft.end(row, 'skipped', 'stopped', { reason })
    else draft.end(row, 'canceled', 'superseded', { reason })
    if (!draft.isHeld) endIfNothingRuns(draft)
    return
  }
  const crashes = crashesAfter(row)
  const limit = crashes >= crashLimit ? new CrashLimitError(row.workflowId, row.node, crashes) : null
  if (limit !== null) {
    deadLetter(draft, plan, row, { error: { ...describeError(limit), stack: null }, reason: 'crash_limit' })
    return
  }
  draft.end(row, 'failed', 'recovered', { reason })
  // It keeps its place in line: what was under way does not wait behind what came later.
  repeat(draft, plan, row, { due: { at: row.dueAt }, failures: row.failures, crashes, keepsInput: true })
}

/** Without a start mark it is not known whether this step ran at all, so its neighbours' deaths count once at most. */
export function crashesAfter(row: Pick<ActiveExecution, 'crashes' | 'startMark'>): number {
  return row.startMark ? row.crashes + 1 : Math.max(row.crashes, 1)
}

/** The time to stop is over: what still runs loses its claim, and the end that was asked for is there. */
export function decideStopTimer(draft: ChangeDraft): void {
  draft.dropTimer(stopTimerSlot)
  const { finishing } = draft.workflow
  if (draft.state !== 'rolling_back' && !finishing) return
  const reason = 'it did not stop in time'
  for (const row of draft.rows().filter(each => each.state === 'in_progress')) {
    if (finishing) draft.end(row, 'canceled', 'superseded', { reason })
    else draft.end(row, 'skipped', 'stopped', { reason })
  }
  endIfNothingRuns(draft)
}
