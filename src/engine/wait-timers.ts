/**
 * The timers of nodes that wait for people, for a message or for a child: when people are told, and when the time is over. A timer holds times
 * that are counted from the beginning of the wait, so that it can be set anew when the code has changed. Pure changes to a draft.
 */
import type { GraphNode } from '../definition/graph.ts'
import type { ChangeDraft, LiveRow } from './change-draft.ts'
import { insertTimer } from './insert-timer.ts'
import { currentName, type Plan, waitSlotPrefix } from './plan.ts'

/** What happens while a node waits, in order: people are told, and at last the time is over. */
export interface Moment {
  readonly afterMs: number
  readonly tell: readonly string[] | null
}

export function momentsOf({ human, waitTimeoutMs }: GraphNode): Moment[] {
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

/** A timer that an earlier version has set tells by when it is due what it was set for; what lay before its first moment was done. */
export function pendingIn(timer: LiveRow, waiting: LiveRow, moments: readonly Moment[]): Pending {
  const given = JSON.parse(timer.input ?? '{}') as Pending | { readonly index?: number }
  if ('afterMs' in given) return given
  const afterMs = Math.round(((timer.dueAt ?? 0) - (waiting.startedAt ?? 0)) / 1000)
  const doneMs = (given.index ?? 0) === 0 ? 0 : afterMs - 1
  return { doneMs, afterMs, moments: moments.filter(moment => moment.afterMs > doneMs) }
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
  if (timer === null) {
    // Nobody knows what was done, if anything was: people are not told for times that are over.
    const { now = null } = draft.facts
    const since = row.startedAt ?? now
    const passedMs = since === null || now === null ? 0 : (now - since) / 1000
    const left = moments.filter(({ afterMs, tell }) => tell === null || afterMs > passedMs)
    insertNext(draft, plan, row, { moments: left, doneMs: 0, since })
    return
  }
  const pending = pendingIn(timer, row, moments)
  const next = moments.find(({ afterMs }) => afterMs > pending.doneMs)
  if (next?.afterMs === pending.afterMs) return
  draft.dropTimer(timer.slot)
  const since = (timer.dueAt ?? 0) - pending.afterMs * 1000
  insertNext(draft, plan, row, { moments, doneMs: pending.doneMs, since })
}

/** The node does not wait any more. */
export function dropWaitTimer(draft: ChangeDraft, row: LiveRow): void {
  const timer = draft.waitTimerOf(row)
  if (timer !== null) draft.dropTimer(timer.slot)
}

interface Waited {
  readonly moments: readonly Moment[]
  readonly doneMs: number
  /** When the wait began; `null`: it begins now. */
  readonly since: number | null
}

/** The timer for what comes next, if anything does. */
export function insertNext(draft: ChangeDraft, plan: Plan, row: LiveRow, { moments, doneMs, since }: Waited): void {
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
