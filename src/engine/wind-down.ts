/**
 * How a workflow comes to rest: held, canceled, declared finished, or stuck behind a step that has failed. Pure changes to
 * a draft. Whoever ends or holds a workflow as a whole must have been shown all of its rows.
 */
import type { Rollback } from '../store/records.ts'
import type { ChangeDraft, LiveRow, Request } from './change-draft.ts'
import { insertTimer } from './insert-timer.ts'
import { openAgain } from './open-again.ts'
import { cascadeSlotPrefix, deadlineSlot, type Plan } from './plan.ts'
import { graceOf, rollbackOf, rowsToUndo, undoNext } from './rollback.ts'
import { type ChildKey, childIn, markFinished } from './stored-input.ts'

/** No node can have this name. */
export const stopTimerSlot = '#stop'

/** Nothing new starts; what runs records its result. */
export function holdRows(draft: ChangeDraft): void {
  for (const row of draft.rows()) {
    if (row.state === 'scheduled' || row.state === 'suspended') draft.move(row, 'paused', { heldFrom: row.state })
  }
}

/** A deadline that has passed while the workflow was held: its timer fires at once. */
export function letGoDeadline(draft: ChangeDraft): void {
  const row = draft.rowIn(deadlineSlot)
  if (row?.state === 'paused') draft.move(row, 'scheduled')
}

/** At once when nothing runs. Running steps are told to stop, and the workflow is undone when they have. `calledBy`: a step of its own. */
export function cancelWorkflow(draft: ChangeDraft, request: Request, plan: Plan, calledBy: string | null = null): void {
  const rollback = rollbackOf('cancel', request.reason, request.by)
  rollBack(draft, plan, calledBy === null ? rollback : { ...rollback, calledBy })
}

/** Nothing new starts; once nothing runs any more, what was done is undone, newest first. */
export function rollBack(draft: ChangeDraft, plan: Plan, rollback: Rollback): void {
  const request = { by: rollback.by, reason: rollback.message }
  const left = stopIdle(draft, request)
  closeLetters(draft)
  // One that was declared finished waits for the same rows, with a timer of its own.
  draft.dropTimer(stopTimerSlot)
  draft.setWorkflow({ rollback, blockedBy: null, ...(draft.workflow.finishing ? { finishing: false } : {}) })
  const undoes = left.length > 0 || rowsToUndo(draft, plan).length > 0
  if (!undoes) {
    draft.dropTimers()
    draft.moveWorkflow(rollback.kind === 'cancel' ? 'canceled' : 'failed', request)
    return
  }
  draft.moveWorkflow('rolling_back', request)
  stopChildren(draft, request, plan)
  if (left.some(row => row.state === 'in_progress'))
    insertTimer(draft, plan, { slot: stopTimerSlot, due: { inMs: graceOf(plan) } })
  else endIfNothingRuns(draft, plan)
}

/** What nobody runs ends at once. Returns what has to be waited for. */
export function stopIdle(draft: ChangeDraft, request: Request): readonly LiveRow[] {
  const left = draft.rows().filter(row => row.state === 'in_progress' || childOf(row) !== null)
  for (const row of draft.rows()) {
    if (!left.includes(row)) draft.end(row, wasBegun(row) ? 'skipped' : 'canceled', 'stopped', { ...request })
  }
  return left
}

/** Right now, whatever runs: nothing is undone or waited for. What a lost claim still reports is refused. */
export function abortWorkflow(draft: ChangeDraft, request: Request, plan: Plan): void {
  for (const row of draft.rows()) {
    stopChild(draft, row, { ...request, how: 'abort' }, plan)
    const begun = wasBegun(row) || row.state === 'in_progress'
    draft.end(row, begun ? 'skipped' : 'canceled', 'stopped', { ...request })
  }
  cutOff(draft, plan)
  draft.dropTimers()
  draft.moveWorkflow('aborted', request)
}

/** What is being undone, and what was to be undone once more, which has no row before its turn. */
function cutOff(draft: ChangeDraft, plan: Plan): void {
  if (draft.facts.undo === null) return
  for (const row of draft.undoRows()) {
    if (row.state === 'compensating') openAgain(draft, plan, row, { why: 'the workflow was aborted', error: null })
  }
}

/** The rest is left out. What still runs is told to stop, and waited for. */
export function finishWorkflow(draft: ChangeDraft, plan: Plan): void {
  if (draft.isHeld) {
    draft.setWorkflow({ pauseCause: 'finishing' })
    return
  }
  for (const row of draft.rows()) {
    if (row.state !== 'in_progress' && childOf(row) === null) draft.end(row, 'canceled', 'superseded')
  }
  draft.setWorkflow({ finishing: true })
  closeLetters(draft)
  stopChildren(draft, { by: null, reason: 'the workflow that waited for it was finished' }, plan)
  if (draft.rows().some(row => row.state === 'in_progress')) {
    insertTimer(draft, plan, { slot: stopTimerSlot, due: { inMs: graceOf(plan) } })
  }
  endIfNothingRuns(draft, plan)
}

/** With the end of a workflow none of its steps is left to be handled. */
function closeLetters(draft: ChangeDraft): void {
  const forward = draft.letters().filter(letter => letter.kind === 'forward')
  for (const letter of forward) draft.closeLetter(letter, 'discarded', { by: null, reason: 'the workflow has ended' })
}

/** The last running row is gone: the end that was asked for is there, or what has to be undone first. */
export function endIfNothingRuns(draft: ChangeDraft, plan: Plan): void {
  if (draft.goesOn() || draft.rows().some(row => row.state === 'waiting')) return
  draft.dropTimer(stopTimerSlot)
  if (draft.state === 'rolling_back') {
    undoNext(draft, plan)
    return
  }
  draft.dropTimers()
  draft.moveWorkflow('finished')
}

/** A failed step keeps the workflow from its end, and no other branch goes on. */
export function pauseIfStuck(draft: ChangeDraft): void {
  const { state, blockedBy, finishing } = draft.workflow
  if (state !== 'ready' || blockedBy === null || finishing || draft.goesOn()) return
  const failure = draft.failureOf(blockedBy)
  if (draft.workflow.openLetters > 0) {
    const letter = draft.letters().find(({ node }) => node === blockedBy)
    draft.moveWorkflow('dlq', {
      by: null,
      reason: `step ${letter?.nodeName ?? blockedBy} waits for its dead letter to be handled`,
    })
    return
  }
  draft.moveWorkflow('paused', { by: null, reason: failure ?? `step ${blockedBy} has failed` }, 'exception')
}

function wasBegun(row: LiveRow): boolean {
  return row.state === 'suspended' || row.state === 'waiting' || row.heldFrom === 'suspended'
}

/** The workflow that a node waits for, if it waits for one. */
export function childOf(row: LiveRow): ChildKey | null {
  return row.state === 'waiting' ? childIn(row.input) : null
}

/** Each child of its own is canceled by a timer: durably, and without a lock on two workflows at once. */
function stopChildren(draft: ChangeDraft, request: Request, plan: Plan): void {
  for (const row of draft.rows()) {
    const child = childOf(row)
    if (child === null) continue
    if (child.isOwn) stopChild(draft, row, request, plan)
    else
      draft.end(
        row,
        draft.workflow.finishing ? 'canceled' : 'skipped',
        draft.workflow.finishing ? 'superseded' : 'stopped',
      )
  }
}

/** With `abort` nothing of the child is undone. */
export type StopRequest = Request & { readonly how?: 'cancel' | 'abort' }

/** Nobody waits any more for the child of the row, where that is its own. Returns the row as it is to be ended then. */
export function stopChild(draft: ChangeDraft, row: LiveRow, request: StopRequest, plan: Plan): LiveRow {
  const { by, reason, how = 'cancel' } = request
  const child = childOf(row)
  if (child === null || !child.isOwn) return row
  const known = draft.facts.others.get(child.workflowId)
  // It has finished, and nobody has come to say so yet: there is nothing left to be stopped, but perhaps to be undone.
  if (known?.state === 'finished' && known.continuedAs === null)
    return { ...row, input: markFinished(row.input, child.workflowId) }
  const why =
    draft.state === 'rolling_back'
      ? 'the workflow that waited for it was canceled'
      : `${row.nodeName ?? row.node}, which waited for it, was left out`
  const input = JSON.stringify({ child: child.workflowId, by, reason: reason ?? why, how })
  const slot = `${cascadeSlotPrefix}${child.workflowId}`
  // Whoever has asked for it before may have asked for less, and nobody may have come to do it yet.
  draft.dropTimer(slot)
  insertTimer(draft, plan, { slot, due: { inMs: 0 }, node: row.node, input })
  return row
}

/** Children that nodes wait for, of which it has to be known whether they have finished. */
export function childrenIn(active: readonly LiveRow[]): string[] {
  return active.flatMap(row => {
    const child = childOf(row)
    return child?.isOwn ? child.workflowId : []
  })
}
