/**
 * Nodes that wait for people or for a message, without using a worker: how the wait begins, what ends it, and what happens
 * when it takes too long. What comes is stored apart; the row says only that it has come. Pure changes to a draft.
 */
import type { GraphNode } from '../definition/graph.ts'
import type { Due, NewExecution } from '../store/change.ts'
import type { ActiveExecution } from '../store/records.ts'
import type { ChangeDraft, LiveRow } from './change-draft.ts'
import { heal, mustHeal } from './heal.ts'
import { insertTimer } from './insert-timer.ts'
import { currentName, hasCode, type Plan, waitSlotPrefix } from './plan.ts'
import { arrive } from './schedule.ts'
import { type Came, markCame } from './stored-input.ts'
import { stopChild } from './wind-down.ts'

/** The node was reached. A signal that came early is there already. */
export function beginWait(draft: ChangeDraft, plan: Plan, row: ActiveExecution): NewExecution[] {
  const node = plan.graph.find(currentName(plan, row.node))
  draft.move(row, 'waiting')
  const waiting = draft.rowIn(row.slot)
  if (node === null || waiting === null) return []
  const kept = draft.facts.signals.find(signal => signal.node === node.id)
  if (node.kind === 'signal' && kept !== undefined) {
    draft.messages.taken.push({ id: kept.id, executionId: row.id })
    return endWait(draft, plan, waiting, { came: 'signal', id: kept.id, output: kept.payload })
  }
  limitWait(draft, plan, waiting)
  return []
}

/** Sees to it that something happens if it takes too long. */
export function limitWait(draft: ChangeDraft, plan: Plan, waiting: LiveRow): void {
  const node = plan.graph.find(currentName(plan, waiting.node))
  const [first] = node === null ? [] : momentsOf(node)
  if (first !== undefined) insertWaitTimer(draft, plan, waiting, { index: 0, due: { inMs: first.afterMs } })
}

type WaitEnd = Came & { readonly output?: string | null }

/** What it waited for is there: its code runs, or it is done where it has none, and what has come is its output, encoded. */
export function endWait(draft: ChangeDraft, plan: Plan, row: LiveRow, end: WaitEnd): NewExecution[] {
  const { output = null, ...came } = end
  draft.dropTimer(waitSlotPrefix + row.node)
  const node = plan.graph.find(currentName(plan, row.node))
  if (came.came === 'nothing' || node === null || hasCode(plan.graph, node)) {
    draft.move(row, draft.isHeld ? 'paused' : 'scheduled', { due: { inMs: 0 }, input: markCame(came) })
    return []
  }
  const outcome = node.kind === 'human' ? 'confirmed' : 'success'
  draft.end({ ...row, input: markCame(came) }, 'completed', outcome, { output })
  if (!mustHeal(draft, plan)) return arrive(draft, plan, row, null)
  // Its counters say nothing: it is looked at as a whole.
  heal(draft, plan)
  return []
}

/** What happens while a node waits, in order: people are told, and at last the time is over. */
interface Moment {
  readonly afterMs: number
  readonly tell: readonly string[] | null
}

function momentsOf({ human, waitTimeoutMs }: GraphNode): Moment[] {
  const escalations = (human?.escalations ?? []).map(({ afterMs, to }) => ({ afterMs, tell: to }))
  const inTime = escalations.filter(({ afterMs }) => waitTimeoutMs === undefined || afterMs < waitTimeoutMs)
  return waitTimeoutMs === undefined ? inTime : [...inTime, { afterMs: waitTimeoutMs, tell: null }]
}

/** A timer of a waiting node has fired. If the node does not wait any more, nothing happens. */
export function fireWaitTimer(draft: ChangeDraft, plan: Plan, timer: ActiveExecution): void {
  draft.dropTimer(timer.slot)
  const row = draft.rows().find(({ id, state }) => id === timer.ancestry.parents[0] && state === 'waiting')
  const node = row === undefined ? null : plan.graph.find(currentName(plan, row.node))
  if (row === undefined || node === null) return
  // A workflow that is being stopped waits for its children, however long they take.
  if (draft.state === 'rolling_back' || draft.workflow.finishing) return
  const { index = 0 } = JSON.parse(timer.input ?? '{}') as { index?: number }
  const moments = momentsOf(node)
  const [now, next] = moments.slice(index)
  // The code has changed meanwhile, and there is nothing to do at this time any more.
  if (now === undefined) return
  if (now.tell === null) {
    stopChild(
      draft,
      row,
      { by: null, reason: `${row.nodeName ?? row.node}, which waited for it, has waited long enough` },
      plan,
    )
    endWait(draft, plan, row, { came: 'nothing' })
    return
  }
  draft.note('decision.escalated', {
    node: row.node,
    nodeName: row.nodeName,
    executionId: row.id,
    reason: `to ${now.tell.join(', ')}`,
  })
  if (next === undefined) return
  const at = timer.dueAt + (next.afterMs - now.afterMs) * 1000
  insertWaitTimer(draft, plan, row, { index: index + 1, due: { at } })
}

function insertWaitTimer(
  draft: ChangeDraft,
  plan: Plan,
  row: LiveRow,
  { index, due }: { readonly index: number; readonly due: Due },
): void {
  const slot = waitSlotPrefix + row.node
  insertTimer(draft, plan, { slot, due, node: row.node, input: JSON.stringify({ index }), parents: [row.id] })
}
