/**
 * Nodes that wait for people or for a message, without using a worker: how the wait begins, what ends it, and what happens
 * when it takes too long. What comes is stored apart; the row says only that it has come. Pure changes to a draft.
 */
import type { NewExecution } from '../store/change.ts'
import type { ActiveExecution, SignalRecord } from '../store/records.ts'
import type { ChangeDraft, LiveRow } from './change-draft.ts'
import { closeWait, confirmationOf, type WaitEnd } from './close-wait.ts'
import { heal, mustHeal } from './heal.ts'
import { callInstead, waitsForAnswer } from './outdated-waits.ts'
import { currentName, type Plan } from './plan.ts'
import { arrive } from './schedule.ts'
import { hasFinishedChild } from './stored-input.ts'
import { insertNext, limitWait, momentsOf, pendingIn } from './wait-timers.ts'
import { stopChild } from './wind-down.ts'

/** The node was reached. A signal that came early is there already. Old code may have come to what does not wait any more. */
export function beginWait(draft: ChangeDraft, plan: Plan, row: ActiveExecution): NewExecution[] {
  const node = plan.graph.find(currentName(plan, row.node))
  if (node !== null && !waitsForAnswer(node)) {
    callInstead(draft, plan, row, node)
    return []
  }
  draft.move(row, 'waiting')
  const waiting = draft.rowIn(row.slot)
  if (node === null || waiting === null) return []
  const kept = signalsFor(draft, plan, node.id).find(signal => signal.takenBy === null)
  if (node.kind === 'signal' && kept !== undefined) {
    draft.messages.taken.push({ id: kept.id, executionId: row.id })
    return endWait(draft, plan, waiting, { came: 'signal', id: kept.id, output: kept.payload })
  }
  limitWait(draft, plan, waiting)
  return []
}

/** The signals for a node in the order in which they came, whatever its name was then. */
export function signalsFor(draft: ChangeDraft, plan: Plan, node: string): SignalRecord[] {
  return draft.facts.signals.filter(signal => currentName(plan, signal.node) === node)
}

/** What it waited for is there: its code runs, or it is done where it has none, and what has come is its output, encoded. */
export function endWait(draft: ChangeDraft, plan: Plan, row: LiveRow, end: WaitEnd): NewExecution[] {
  if (!closeWait(draft, plan, row, end)) return []
  if (!mustHeal(draft, plan)) return arrive(draft, plan, row, null)
  // Its counters say nothing: it is looked at as a whole.
  heal(draft, plan)
  return []
}

/** A timer of a waiting node has fired. If the node does not wait any more, nothing happens. */
export function fireWaitTimer(draft: ChangeDraft, plan: Plan, timer: ActiveExecution): void {
  draft.dropTimer(timer.slot)
  const row = draft.rows().find(({ id, state }) => id === timer.ancestry.parents[0] && state === 'waiting')
  if (row === undefined) return
  // A workflow that is being stopped waits for its children, however long they take.
  if (draft.state === 'rolling_back' || draft.workflow.finishing) return
  const node = plan.graph.find(currentName(plan, row.node))
  const known = node === null ? null : momentsOf(node)
  const pending = pendingIn(timer, row, known ?? [])
  const { doneMs, afterMs } = pending
  // The code may have changed meanwhile, so that there is nothing to do now, or something that should have been done before.
  const moments = known ?? pending.moments
  const due = moments.filter(moment => moment.afterMs > doneMs && moment.afterMs <= afterMs)
  for (const { tell } of due) {
    if (tell === null) {
      endUnanswered(draft, plan, row)
      return
    }
    draft.note('decision.escalated', {
      node: row.node,
      nodeName: row.nodeName,
      executionId: row.id,
      reason: `to ${tell.join(', ')}`,
    })
  }
  insertNext(draft, plan, row, { moments, doneMs: afterMs, since: timer.dueAt - afterMs * 1000 })
}

/** Nothing has come in time, unless people have said enough for code that nobody has brought the workflow in line with yet. */
function endUnanswered(draft: ChangeDraft, plan: Plan, row: LiveRow): void {
  const confirmed = confirmationOf(draft, plan, row)
  if (confirmed !== null) {
    endWait(draft, plan, row, confirmed)
    return
  }
  const reason = `${row.nodeName ?? row.node}, which waited for it, has waited long enough`
  const left = stopChild(draft, row, { by: null, reason }, plan)
  // Its child has finished in time, and somebody is about to say so.
  if (hasFinishedChild(left.input)) return
  endWait(draft, plan, row, { came: 'nothing' })
}
