/**
 * What ends the wait of a node for people, a message or a child, and when people have said enough. What follows from that in the rest of the
 * workflow is left to the caller. Pure changes to a draft.
 */
import type { Graph } from '../definition/graph.ts'
import type { WorkflowFacts } from '../store/change.ts'
import type { ChangeDraft, LiveRow } from './change-draft.ts'
import { decidedOutput } from './decided-output.ts'
import { currentName, hasCode, type Plan } from './plan.ts'
import { type Came, markCame } from './stored-input.ts'
import { dropWaitTimer } from './wait-timers.ts'

export type WaitEnd = Came & { readonly output?: string | null; readonly reason?: string }

export const enoughConfirmed = 'as many have confirmed as the newest code asks for'

/** What it waited for is there: its code runs, or it has ended where it has none. Tells whether it has. */
export function closeWait(draft: ChangeDraft, plan: Plan, row: LiveRow, end: WaitEnd): boolean {
  const { output = null, reason = null, ...came } = end
  dropWaitTimer(draft, row)
  const node = plan.graph.find(currentName(plan, row.node))
  if (came.came === 'nothing' || node === null || hasCode(plan.graph, node)) {
    const into = draft.isHeld ? 'paused' : 'scheduled'
    draft.move(row, into, { due: { inMs: 0 }, input: markCame(came), reason })
    return false
  }
  const outcome = node.kind === 'human' ? 'confirmed' : 'success'
  draft.end({ ...row, input: markCame(came) }, 'completed', outcome, { output, reason })
  return true
}

/** What ends the wait of a node that asks people, if so many have confirmed as the newest code asks for; it may have asked for more before. */
export function confirmationOf(draft: ChangeDraft, plan: Plan, row: LiveRow): WaitEnd | null {
  const node = plan.graph.find(currentName(plan, row.node))
  if (row.state !== 'waiting' || node?.kind !== 'human') return null
  const made = draft.facts.decisions.filter(({ executionId }) => executionId === row.id)
  const confirmed = made.filter(({ decision }) => decision === 'confirmed')
  if (confirmed.length === 0 || confirmed.length < (node.human?.quorum ?? 1)) return null
  return { came: 'decision', on: row.id, output: decidedOutput(made), reason: enoughConfirmed }
}

/** The graph has changed: whoever has been confirmed enough by it waits no longer. The facts must show what people have said. */
export function closeConfirmedWaits(draft: ChangeDraft, plan: Plan): void {
  for (const row of draft.rows()) {
    const end = confirmationOf(draft, plan, row)
    if (end !== null) closeWait(draft, plan, row, end)
  }
}

/** The rows on which people may have decided, which whoever heals must know. */
export function askedIn(graph: Graph, { active }: Pick<WorkflowFacts, 'active'>): string[] {
  const asks = (name: string) => graph.find(currentName(graph, name))?.kind === 'human'
  return active.filter(({ node, state }) => state === 'waiting' && asks(node)).map(({ id }) => id)
}
