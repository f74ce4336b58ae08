/**
 * Nodes that wait for another workflow: how the wait begins, and how the end of that workflow wakes the node. What the end
 * means for the node is decided by a worker that claims it then. Pure changes to a draft.
 */
import type { ActiveExecution } from '../store/records.ts'
import type { StartOrder } from '../store/store.ts'
import type { ChangeDraft, LiveRow } from './change-draft.ts'
import { isEnd } from './end-watch.ts'
import type { Plan } from './plan.ts'
import { firstNameIn, keepName, markChild, markFinished, markHeld } from './stored-input.ts'
import { dropWaitTimer, limitWait } from './wait-timers.ts'
import { childOf, endIfNothingRuns, stopChild } from './wind-down.ts'

/**
 * The child was started in the same transaction, unless another one holds its place. Then the node is claimed once more and
 * throws, so that its retries and its policy are asked, which may be code of the user's, as after any other error.
 */
export function waitForChild(draft: ChangeDraft, plan: Plan, row: ActiveExecution, order: StartOrder): void {
  const result = draft.facts.started.get(order.id)
  if (result?.kind === 'started') {
    draft.move(row, 'waiting', { input: markChild({ workflowId: order.id, isOwn: true }) })
    limitWaitIn(draft, plan, row.slot)
    return
  }
  const holder = result?.workflow.id ?? ''
  draft.move(row, draft.isHeld ? 'paused' : 'scheduled', {
    due: { inMs: 0 },
    input: markHeld(holder),
    reason: `workflow ${holder} holds the place of its child`,
  })
}

/** A join was decided without the node while it started its child, which is there now, and which nobody waits for. */
export function abandonChild(draft: ChangeDraft, plan: Plan, row: ActiveExecution, order: StartOrder): void {
  waitForChild(draft, plan, row, order)
  const begun = draft.rowIn(row.slot)
  if (begun === null) return
  stopChild(draft, begun, { by: null, reason: null }, plan)
  draft.end(begun, 'canceled', 'superseded')
}

/**
 * The workflow was stopped by a report that came together with the start of the child, which is there now: it is stopped like
 * every child of the workflow, and waited for. `false`: it was not started.
 */
export function stopStartedChild(draft: ChangeDraft, plan: Plan, row: ActiveExecution, order: StartOrder): boolean {
  if (draft.facts.started.get(order.id)?.kind !== 'started') return false
  waitForChild(draft, plan, row, order)
  const begun = draft.rowIn(row.slot)
  // Where somebody keeps the workflow paused, its children are stopped when that is over.
  if (begun !== null && !draft.isHeld) stopChild(draft, begun, { by: null, reason: null }, plan)
  return true
}

/** The watch stands already, so an end that is not seen here wakes the node later. */
export function waitForOther(draft: ChangeDraft, plan: Plan, row: ActiveExecution, workflowId: string): void {
  const other = draft.facts.others.get(workflowId)
  draft.move(row, 'waiting', { input: markChild({ workflowId, isOwn: false }) })
  if (other && isEnd(other.state) && other.continuedAs === null) wakeNode(draft, plan, row.node)
  else limitWaitIn(draft, plan, row.slot)
}

function limitWaitIn(draft: ChangeDraft, plan: Plan, slot: string): void {
  const waiting = draft.rowIn(slot)
  if (waiting !== null) limitWait(draft, plan, waiting)
}

/** A workflow that was continued is known to who waits for it as the one that came first. */
export interface EndedWorkflow {
  readonly id: string
  readonly knownAs: string
}

/** What a wake timer says. */
export function endedIn({ ancestry: { parents } }: Pick<ActiveExecution, 'ancestry'>): EndedWorkflow {
  const [knownAs = '', id = knownAs] = parents
  return { id, knownAs }
}

/** The workflow that the node waits for has ended: a worker looks at it. In a workflow that is being stopped, nobody does. */
export function wakeNode(draft: ChangeDraft, plan: Plan, node: string, ended?: EndedWorkflow): void {
  const waiting = draft.rows().filter(candidate => candidate.state === 'waiting' && childOf(candidate) !== null)
  // The node may have another name by now, or wait for another workflow.
  const row = waiting.find(candidate =>
    ended === undefined ? candidate.node === node : childOf(candidate)?.workflowId === ended.knownAs,
  )
  if (!row) return
  const input = inputAfter(draft, row, ended)
  if (draft.state === 'rolling_back' || draft.workflow.finishing) {
    if (draft.workflow.finishing) draft.end({ ...row, input }, 'canceled', 'superseded')
    else draft.end({ ...row, input }, 'skipped', 'stopped')
    endIfNothingRuns(draft, plan)
  } else {
    dropWaitTimer(draft, row)
    draft.move(row, draft.isHeld ? 'paused' : 'scheduled', { due: { inMs: 0 }, ...(input === null ? {} : { input }) })
  }
}

/** Of its own child it is kept that it has finished: from then on that is part of what the node has done. */
function inputAfter({ facts }: ChangeDraft, row: LiveRow, ended?: EndedWorkflow): string | null {
  const key = childOf(row)
  if (key === null || ended === undefined) return row.input
  if (key.isOwn && facts.others.get(ended.id)?.state === 'finished') return markFinished(row.input, ended.id)
  if (ended.id === ended.knownAs) return row.input
  return keepName(markChild({ workflowId: ended.id, isOwn: key.isOwn }), firstNameIn(row.input))
}
