/**
 * An event that a decision leaves. All have the same fields in the same order, named one by one: every step leaves several,
 * and objects that are put together by spreading cost many times as much, also where they are read.
 */
import type { NewEvent } from '../store/change.ts'

type Details = Partial<Omit<NewEvent, 'workflowId' | 'type'>>

/** The row that an event is about. */
export interface About {
  readonly id: string
  readonly node: string
  readonly nodeName?: string | null
  readonly attempt: number
}

export function newEvent(workflowId: string, type: NewEvent['type'], row: About | null, details: Details): NewEvent {
  return {
    workflowId,
    type,
    executionId: row === null ? (details.executionId ?? null) : row.id,
    node: row === null ? (details.node ?? null) : row.node,
    nodeName: (row === null ? details.nodeName : row.nodeName) ?? null,
    attempt: row === null ? (details.attempt ?? null) : row.attempt,
    from: details.from ?? null,
    to: details.to ?? null,
    by: details.by ?? null,
    reason: details.reason ?? null,
    outcome: details.outcome ?? null,
    since: details.since ?? null,
    payload: details.payload ?? null,
  }
}
