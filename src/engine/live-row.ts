/** A row of a workflow as it will be once a change is written, whether it stands already or is inserted by that change. */
import type { Due, NewExecution } from '../store/change.ts'
import type { ActiveExecution } from '../store/records.ts'

export type NextExecution = Omit<NewExecution, 'workflowId'>

/** A row as it will be. One that this change inserts has no times yet, but since when it waits, if it was there before. */
export type LiveRow = Omit<ActiveExecution, 'createdAt' | 'dueAt'> & {
  readonly createdAt: number | null
  readonly dueAt: number | null
  /** Where this change gives it another time, which nobody knows before it is written. */
  readonly due?: Due
}

/**
 * One object for both: what is to be written, and the row as it will be. Named one by one: a fan-out may insert very many,
 * and an object that is made by spreading so many fields is several times slower and larger.
 */
export function freshRow(workflowId: string, execution: NextExecution): NewExecution & LiveRow {
  return {
    workflowId,
    slot: execution.slot,
    id: execution.id,
    node: execution.node,
    nodeName: execution.nodeName ?? null,
    kind: execution.kind,
    attempt: execution.attempt,
    ordinal: execution.ordinal,
    state: execution.state,
    queue: execution.queue,
    handler: execution.handler,
    lane: execution.lane ?? '',
    generation: execution.generation,
    priority: execution.priority,
    due: execution.due,
    owner: execution.owner,
    fence: execution.fence,
    failures: execution.failures,
    crashes: execution.crashes,
    progress: execution.progress,
    input: execution.input,
    ancestry: execution.ancestry,
    heldFrom: execution.state === 'paused' ? 'scheduled' : null,
    startMark: false,
    createdAt: null,
    dueAt: null,
    // One that only waits to be claimed has not begun, whatever it was before.
    startedAt: isUnderWay(execution) ? (execution.startedAt ?? null) : null,
  }
}

function isUnderWay({ state }: NextExecution): boolean {
  return state === 'waiting' || state === 'suspended'
}
