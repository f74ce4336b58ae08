/**
 * How a workflow comes to rest: held, canceled, declared finished, or stuck behind a step that has failed. Pure changes to
 * a draft. Whoever ends or holds a workflow as a whole must have been shown all of its rows.
 */
import { noProgress } from '../store/records.ts'
import type { ChangeDraft, LiveRow, Request } from './change-draft.ts'
import { deadlineSlot, ownerOf, type Plan, timerHandler, timerQueue } from './plan.ts'

/** How long a canceled workflow waits for a running step to stop. */
export const stopGraceMs = 30_000
/** No node can have this name. */
export const stopTimerSlot = '#stop'

/** Timers that cancel a child begin so. */
export const cascadeSlotPrefix = '#cascade/'

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

/** At once when nothing runs. Running steps are told to stop, and the workflow ends when they have. */
export function cancelWorkflow(draft: ChangeDraft, request: Request, plan: Plan): void {
  const left = draft.rows().filter(row => row.state === 'in_progress' || childOf(row) !== null)
  for (const row of draft.rows()) {
    if (!left.includes(row)) draft.end(row, wasBegun(row) ? 'skipped' : 'canceled', 'stopped', { ...request })
  }
  closeLetters(draft, request)
  // One that was declared finished waits for the same rows, with a timer of its own.
  draft.dropTimer(stopTimerSlot)
  draft.moveWorkflow(left.length > 0 ? 'rolling_back' : 'canceled', request)
  if (draft.workflow.finishing) draft.setWorkflow({ finishing: false })
  stopChildren(draft, request, plan)
  if (left.some(row => row.state === 'in_progress'))
    insertTimer(draft, plan, { slot: stopTimerSlot, inMs: stopGraceMs })
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
  closeLetters(draft, { by: null, reason: 'the workflow was finished' })
  stopChildren(draft, { by: null, reason: 'the workflow that waited for it was finished' }, plan)
  if (draft.rows().some(row => row.state === 'in_progress')) {
    insertTimer(draft, plan, { slot: stopTimerSlot, inMs: stopGraceMs })
  }
  endIfNothingRuns(draft)
}

/** With the end of a workflow nothing is left to be handled. */
function closeLetters(draft: ChangeDraft, request: Request): void {
  for (const letter of draft.letters()) draft.closeLetter(letter, 'discarded', request)
}

/** The last running row is gone: the end that was asked for is there. */
export function endIfNothingRuns(draft: ChangeDraft): void {
  if (draft.goesOn() || draft.rows().some(row => row.state === 'waiting')) return
  draft.dropTimers()
  // A workflow that was declared finished can still be canceled while it waits for what runs.
  draft.moveWorkflow(draft.state === 'rolling_back' ? 'canceled' : 'finished')
}

/** A failed step keeps the workflow from its end, and no other branch goes on. */
export function pauseIfStuck(draft: ChangeDraft): void {
  const { state, blockedBy, finishing } = draft.workflow
  if (state !== 'ready' || blockedBy === null || finishing || draft.goesOn()) return
  const failure = draft.failureOf(blockedBy)
  if (draft.workflow.openLetters > 0) {
    draft.moveWorkflow('dlq', { by: null, reason: `step ${blockedBy} waits for its dead letter to be handled` })
    return
  }
  draft.moveWorkflow('paused', { by: null, reason: failure ?? `step ${blockedBy} has failed` }, 'exception')
}

function wasBegun(row: LiveRow): boolean {
  return row.state === 'suspended' || row.state === 'waiting' || row.heldFrom === 'suspended'
}

/** The workflow that a node waits for, if it waits for one. */
export function childOf(row: LiveRow): ChildKey | null {
  // An item stands in line with an input of the application's, which may look like anything.
  const isItem = ownerOf(row.node) !== null
  return row.state === 'waiting' && row.input !== null && !isItem ? childKey(row.input) : null
}

/** What the row of a `child` node works on: the workflow that it waits for, and whether that is its own. */
export interface ChildKey {
  readonly workflowId: string
  readonly isOwn: boolean
}

export function childKey(input: string): ChildKey | null {
  const parsed = JSON.parse(input) as { child?: string; existing?: string } | null
  if (typeof parsed?.child === 'string') return { workflowId: parsed.child, isOwn: true }
  return typeof parsed?.existing === 'string' ? { workflowId: parsed.existing, isOwn: false } : null
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
  if (draft.state === 'rolling_back' && draft.rows().length === 0) endIfNothingRuns(draft)
}

export function stopChild(draft: ChangeDraft, row: LiveRow, { by, reason }: Request, plan: Plan): void {
  const child = childOf(row)
  if (child === null || !child.isOwn) return
  const why =
    draft.state === 'rolling_back'
      ? 'the workflow that waited for it was canceled'
      : `${row.node}, which waited for it, was left out`
  const input = JSON.stringify({ child: child.workflowId, by, reason: reason ?? why })
  insertTimer(draft, plan, { slot: `${cascadeSlotPrefix}${row.node}`, inMs: 0, node: row.node, input })
}

interface Timer {
  readonly slot: string
  readonly inMs: number
  readonly node?: string
  readonly input?: string
}

function insertTimer(draft: ChangeDraft, plan: Plan, timer: Timer): void {
  draft.insert({
    slot: timer.slot,
    id: plan.takeId(),
    node: timer.node ?? '',
    kind: 'timer',
    attempt: 1,
    ordinal: 0,
    state: 'scheduled',
    queue: timerQueue,
    handler: timerHandler,
    generation: 0,
    priority: 0,
    due: { inMs: timer.inMs },
    owner: null,
    fence: 0,
    failures: 0,
    crashes: 0,
    progress: noProgress,
    input: timer.input ?? null,
    ancestry: { hash: '', parents: [] },
  })
}
