/**
 * Nodes that wait for people or for a message, without using a worker: how the wait begins, what ends it, and what happens
 * when it takes too long. What comes is stored apart; the row says only that it has come. Pure changes to a draft.
 */
import type { GraphNode } from '../definition/graph.ts'
import type { NewExecution } from '../store/change.ts'
import type { ActiveExecution } from '../store/records.ts'
import type { ChangeDraft, LiveRow } from './change-draft.ts'
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
  if (node !== null) insertNext(draft, plan, waiting, { moments: momentsOf(node), doneMs: 0, since: null })
}

/** The graph has changed: what waits goes by the times that it says now, counted from when the wait began. */
export function limitWaits(draft: ChangeDraft, plan: Plan): void {
  for (const row of draft.rows()) {
    const node = row.state === 'waiting' ? plan.graph.find(currentName(plan, row.node)) : null
    if (node !== null && waits.has(node.kind)) limitAnew(draft, plan, row, momentsOf(node))
  }
}

const waits: ReadonlySet<GraphNode['kind']> = new Set(['human', 'signal', 'child'])

function limitAnew(draft: ChangeDraft, plan: Plan, row: LiveRow, moments: readonly Moment[]): void {
  const timer = draft.waitTimerOf(row)
  const pending = timer === null ? null : pendingIn(timer, moments)
  if (timer !== null && pending === null) return
  if (timer === null || pending === null) {
    // Nobody knows what was done, if anything was: people are not told for times that are over.
    const since = row.startedAt ?? 0
    const passedMs = ((draft.facts.now ?? since) - since) / 1000
    const left = moments.filter(({ afterMs, tell }) => tell === null || afterMs > passedMs)
    insertNext(draft, plan, row, { moments: left, doneMs: 0, since })
    return
  }
  const next = moments.find(({ afterMs }) => afterMs > pending.doneMs)
  if (next?.afterMs === pending.afterMs) return
  draft.dropTimer(timer.slot)
  const since = (timer.dueAt ?? 0) - pending.afterMs * 1000
  insertNext(draft, plan, row, { moments, doneMs: pending.doneMs, since })
}

type WaitEnd = Came & { readonly output?: string | null }

/** What it waited for is there: its code runs, or it is done where it has none, and what has come is its output, encoded. */
export function endWait(draft: ChangeDraft, plan: Plan, row: LiveRow, end: WaitEnd): NewExecution[] {
  const { output = null, ...came } = end
  dropWaitTimer(draft, row)
  const node = plan.graph.find(currentName(plan, row.node))
  if (came.came === 'nothing' || node === null || hasCode(plan.graph, node)) {
    draft.move(row, draft.isHeld ? 'paused' : 'scheduled', { due: { inMs: 0 }, input: markCame(came) })
    return []
  }
  const outcome = node.kind === 'human' ? 'confirmed' : 'success'
  draft.end({ ...row, input: markCame(came) }, 'completed', outcome, { output })
  return arrive(draft, plan, row, null)
}

/** The node does not wait any more. */
export function dropWaitTimer(draft: ChangeDraft, row: LiveRow): void {
  const timer = draft.waitTimerOf(row)
  if (timer !== null) draft.dropTimer(timer.slot)
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

/** What a timer of a waiting node says. All times are counted from when the wait began. */
interface Pending {
  /** Up to here everything has been done. */
  readonly doneMs: number
  /** The timer is due at this time. */
  readonly afterMs: number
  /** From that time on, as it was said when the timer was set: of a node that the code has lost, nobody says it any more. */
  readonly moments: readonly Moment[]
}

/** `null`: it was set by an earlier version, and the code has nothing to do at that time any more. */
function pendingIn({ input }: Pick<LiveRow, 'input'>, moments: readonly Moment[]): Pending | null {
  const given = JSON.parse(input ?? '{}') as Pending | { readonly index?: number }
  if ('afterMs' in given) return given
  const { index = 0 } = given
  const moment = moments[index]
  if (moment === undefined) return null
  return { doneMs: moments[index - 1]?.afterMs ?? 0, afterMs: moment.afterMs, moments: moments.slice(index) }
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
  const pending = pendingIn(timer, known ?? [])
  if (pending === null) return
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

function endUnanswered(draft: ChangeDraft, plan: Plan, row: LiveRow): void {
  const reason = `${row.nodeName ?? row.node}, which waited for it, has waited long enough`
  stopChild(draft, row, { by: null, reason }, plan)
  endWait(draft, plan, row, { came: 'nothing' })
}

interface Waited {
  readonly moments: readonly Moment[]
  readonly doneMs: number
  /** When the wait began; `null`: it begins now. */
  readonly since: number | null
}

/** The timer for what comes next, if anything does. */
function insertNext(draft: ChangeDraft, plan: Plan, row: LiveRow, { moments, doneMs, since }: Waited): void {
  const left = moments.filter(({ afterMs }) => afterMs > doneMs)
  const [next] = left
  if (next === undefined) return
  const { afterMs } = next
  const pending: Pending = { doneMs, afterMs, moments: left }
  insertTimer(draft, plan, {
    slot: waitSlotPrefix + row.id,
    due: since === null ? { inMs: afterMs } : { at: since + afterMs * 1000 },
    node: row.node,
    input: JSON.stringify(pending),
    parents: [row.id],
  })
}
