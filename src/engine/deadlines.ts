/**
 * How long a workflow may take as a whole: a timer among its rows, due at a time that never moves. What is held by a person
 * or a dead letter is left alone; the deadline acts when it goes on. Pure changes to a draft.
 */
import type { DeadlineAction, Graph } from '../definition/graph.ts'
import type { Due, NewExecution } from '../store/change.ts'
import { type ActiveExecution, noProgress } from '../store/records.ts'
import type { ChangeDraft, LiveRow, Request } from './change-draft.ts'
import { cancelFromLetters } from './dead-letters.ts'
import { deadlineSlot, type Plan, timerHandler, timerQueue } from './plan.ts'
import { holdRows } from './wind-down.ts'

/** What a start says about its deadline: how long after the first step may run, or when. */
export type GivenDeadline = { readonly ms: number } | { readonly at: number }

/** When a workflow that begins so must have ended; `null`: it has all the time. */
export function deadlineOf(
  { data }: Graph,
  given: { readonly delayMs: number; readonly at: number | null; readonly deadline?: GivenDeadline | null },
): Due | null {
  const deadline = given.deadline ?? (data.deadlineMs === undefined ? null : { ms: data.deadlineMs })
  if (deadline === null) return null
  if ('at' in deadline) return { at: Math.ceil(deadline.at * 1000) }
  return given.at === null ? { inMs: given.delayMs + deadline.ms } : { at: Math.ceil((given.at + deadline.ms) * 1000) }
}

/** What is to be done is kept in the row: whoever fires the timer may not have the code. */
export function deadlineRow(workflowId: string, id: string, due: Due, action: DeadlineAction = 'cancel'): NewExecution {
  return {
    workflowId,
    slot: deadlineSlot,
    id,
    node: '',
    kind: 'timer',
    attempt: 1,
    ordinal: 0,
    state: 'scheduled',
    queue: timerQueue,
    handler: timerHandler,
    generation: 0,
    priority: 0,
    due,
    owner: null,
    fence: 0,
    failures: 0,
    crashes: 0,
    progress: noProgress,
    input: JSON.stringify({ action }),
    ancestry: { hash: '', parents: [] },
  }
}

/** The timer has fallen due and was claimed. */
export function decideDeadline(draft: ChangeDraft, timer: ActiveExecution, plan: Plan): void {
  const row = draft.rowIn(deadlineSlot)
  if (row?.id !== timer.id || row.fence !== timer.fence || row.state !== 'in_progress') return
  if (draft.isHeld && actionOf(row) === 'cancel') {
    draft.move(row, 'paused')
    return
  }
  draft.dropTimer(deadlineSlot)
  if (draft.state === 'ready' && !draft.workflow.finishing) act(draft, row, null, plan)
}

/** The workflow is about to go on: what fell due while it was held acts now. True if it does not go on. */
export function meetDeadline(draft: ChangeDraft, request: Request, plan: Plan): boolean {
  const row = draft.rowIn(deadlineSlot)
  if (row?.state !== 'paused') return false
  draft.dropTimer(deadlineSlot)
  act(draft, row, request.by, plan)
  return true
}

function act(draft: ChangeDraft, row: LiveRow, by: string | null, plan: Plan): void {
  const request = { by, reason: 'its deadline has passed' }
  if (actionOf(row) === 'cancel') {
    cancelFromLetters(draft, request, plan)
    return
  }
  holdRows(draft)
  draft.moveWorkflow('paused', request, 'request')
}

function actionOf({ input }: LiveRow): DeadlineAction {
  return (JSON.parse(input ?? '{}') as { action?: DeadlineAction }).action ?? 'cancel'
}
