/**
 * How a workflow comes to rest: held, canceled, declared finished, or stuck behind a step that has failed. Pure changes to
 * a draft. Whoever ends or holds a workflow as a whole must have been shown all of its rows.
 */
import { noProgress } from '../store/records.ts'
import type { ChangeDraft, LiveRow, Request } from './change-draft.ts'
import { type Plan, timerQueue } from './plan.ts'

/** How long a canceled workflow waits for a running step to stop. */
export const stopGraceMs = 30_000
/** No node can have this name. */
export const stopTimerSlot = '#stop'

/** Nothing new starts; what runs records its result. */
export function holdRows(draft: ChangeDraft): void {
  for (const row of draft.rows()) {
    if (row.state === 'scheduled' || row.state === 'suspended') draft.move(row, 'paused', { heldFrom: row.state })
  }
}

/** At once when nothing runs. Running steps are told to stop, and the workflow ends when they have. */
export function cancelWorkflow(draft: ChangeDraft, request: Request, plan: Plan): void {
  const running = draft.rows().filter(row => row.state === 'in_progress')
  for (const row of draft.rows()) {
    if (row.state !== 'in_progress') draft.end(row, wasBegun(row) ? 'skipped' : 'canceled', 'stopped', { ...request })
  }
  draft.moveWorkflow(running.length > 0 ? 'rolling_back' : 'canceled', request)
  if (running[0]) insertStopTimer(draft, running[0], plan)
}

/** The rest is left out. What still runs is told to stop, and waited for. */
export function finishWorkflow(draft: ChangeDraft): void {
  if (draft.state === 'paused') {
    draft.setWorkflow({ pauseCause: 'finishing' })
    return
  }
  for (const row of draft.rows()) if (row.state !== 'in_progress') draft.end(row, 'canceled', 'superseded')
  draft.setWorkflow({ finishing: true })
  endIfNothingRuns(draft)
}

/** The last running row is gone: the end that was asked for is there. */
export function endIfNothingRuns(draft: ChangeDraft): void {
  if (draft.goesOn()) return
  draft.dropTimers()
  // A workflow that was declared finished can still be canceled while it waits for what runs.
  draft.moveWorkflow(draft.state === 'rolling_back' ? 'canceled' : 'finished')
}

/** A failed step keeps the workflow from its end, and no other branch goes on. */
export function pauseIfStuck(draft: ChangeDraft): void {
  const { state, blockedBy, finishing } = draft.workflow
  if (state !== 'ready' || blockedBy === null || finishing || draft.goesOn()) return
  const failure = draft.failureOf(blockedBy)
  draft.moveWorkflow('paused', { by: null, reason: failure ?? `step ${blockedBy} has failed` }, 'exception')
}

function wasBegun(row: LiveRow): boolean {
  return row.state === 'suspended' || row.state === 'waiting' || row.heldFrom === 'suspended'
}

function insertStopTimer(draft: ChangeDraft, running: LiveRow, plan: Plan): void {
  draft.insert({
    slot: stopTimerSlot,
    id: plan.takeId(),
    node: '',
    kind: 'timer',
    attempt: 1,
    ordinal: running.ordinal,
    state: 'scheduled',
    queue: timerQueue,
    handler: running.handler,
    generation: running.generation,
    priority: running.priority,
    due: { inMs: stopGraceMs },
    owner: null,
    fence: 0,
    failures: 0,
    crashes: 0,
    progress: noProgress,
    input: null,
    ancestry: { hash: '', parents: [] },
  })
}
