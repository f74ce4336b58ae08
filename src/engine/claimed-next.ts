/** What a worker goes on with, as it will stand there: a row that is written already claimed. */
import type { NewExecution } from '../store/change.ts'
import type { ActiveExecution, ClaimedExecution, WorkflowRecord } from '../store/records.ts'
import type { FinishRequest } from './finish-request.ts'

export function claimedNext(
  { claimed }: FinishRequest,
  workflow: WorkflowRecord,
  next: NewExecution,
  now: number,
): ClaimedExecution {
  const dueAt = 'at' in next.due ? next.due.at : now + Math.ceil(next.due.inMs * 1000)
  return { ...claimed, workflow, execution: startedRow(next, now, dueAt) }
}

/** The row as it will stand there, begun at that time. Named one by one: every step comes through here. */
function startedRow(row: NewExecution, now: number, dueAt: number): ActiveExecution {
  return {
    workflowId: row.workflowId,
    slot: row.slot,
    id: row.id,
    node: row.node,
    nodeName: row.nodeName ?? null,
    kind: row.kind,
    attempt: row.attempt,
    ordinal: row.ordinal,
    state: row.state,
    queue: row.queue,
    handler: row.handler,
    lane: row.lane ?? '',
    generation: row.generation,
    priority: row.priority,
    owner: row.owner,
    fence: row.fence,
    failures: row.failures,
    crashes: row.crashes,
    progress: row.progress,
    input: row.input,
    ancestry: row.ancestry,
    heldFrom: null,
    startMark: false,
    createdAt: now,
    dueAt,
    startedAt: now,
  }
}
