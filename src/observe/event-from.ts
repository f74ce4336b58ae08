/** Makes the event that people see of one that is stored, or was just committed. */

import type { FinalizingDecision } from '../engine/finalizing.ts'
import { decodeValue } from '../primitives/json-codec.ts'
import type { CommittedEvent, EventWithType } from '../store/event-store.ts'
import {
  type EngineEventType,
  type EventRecord,
  engineEventTypes,
  type Outcome,
  type PauseCause,
} from '../store/records.ts'
import type { CustomEvent, EngineEvent, EventError, GenevaEvent } from './events.ts'

const engineTypes: ReadonlySet<string> = new Set(engineEventTypes)

export function isEngineEventType(type: string): type is EngineEventType {
  return engineTypes.has(type)
}

export function isEngineEvent(event: GenevaEvent): event is EngineEvent {
  return engineTypes.has(event.type)
}

type Source = Omit<EventWithType, 'id'> & { readonly id: string | null }

export function fromCommitted({ event, workflowType, at }: CommittedEvent): GenevaEvent {
  return eventFrom({ ...nothing, ...event, id: null, workflowType, at })
}

export function fromStored(event: EventWithType): GenevaEvent {
  return eventFrom(event)
}

const nothing = {
  executionId: null,
  node: null,
  nodeName: null,
  attempt: null,
  from: null,
  to: null,
  by: null,
  reason: null,
  outcome: null,
  since: null,
  payload: null,
}

function eventFrom(source: Source): GenevaEvent {
  const { id, type, workflowId, workflowType, by, reason } = source
  const facts = {
    type,
    position: id,
    workflowId,
    workflow: workflowType,
    at: new Date(Math.floor(source.at / 1000)),
    by,
    reason,
  }
  return { ...facts, ...whatIsMore(source) } as unknown as GenevaEvent
}

function whatIsMore(source: Source): object {
  return source.type.startsWith('workflow.') ? aboutWorkflow(source) : aboutRows(source)
}

function aboutWorkflow(source: Source): object {
  const { type, from, to } = source
  const moved = { from, to }
  switch (type as EngineEventType) {
    case 'workflow.started':
    case 'workflow.rolling_back':
      return moved
    case 'workflow.paused':
      return { ...moved, ...pauseOf(source) }
    case 'workflow.dlq':
      return { ...moved, decision: blocked }
    case 'workflow.resumed':
      return { ...moved, pausedMs: lasted(source) }
    case 'workflow.finished':
      return { ...moved, lastedMs: lasted(source), decision: complete }
    case 'workflow.failed':
    case 'workflow.canceled':
    case 'workflow.aborted':
      return { ...moved, lastedMs: lasted(source) }
    case 'workflow.healed':
      return { removed: removedIn(source.payload) }
    default:
      return {}
  }
}

function aboutRows(source: Source): object {
  const { type, from, to, executionId, outcome } = source
  const moved = { from, to }
  const step = { executionId, step: source.nodeName ?? source.node, attempt: source.attempt }
  switch (type as EngineEventType) {
    case 'step.scheduled':
    case 'step.held':
    case 'step.waiting':
    case 'step.released':
    case 'step.suspended':
    case 'step.withdrawn':
    case 'step.renamed':
    case 'step.compensating':
    case 'step.rolled_back':
    case 'compensation.scheduled':
    case 'compensation.released':
      return { ...step, ...moved }
    case 'step.started':
    case 'compensation.started':
      // One that begins right after the step before it has not waited.
      return { ...step, ...moved, waitedMs: lasted(source) ?? 0 }
    case 'step.completed':
    case 'step.skipped':
    case 'step.canceled':
    case 'compensation.completed':
    case 'compensation.skipped':
      return { ...step, ...moved, outcome, ranMs: lasted(source), error: errorOf(source) }
    case 'step.failed':
    case 'compensation.failed':
      return { ...step, ...moved, ...failureOf(source) }
    case 'timer.scheduled':
    case 'timer.started':
    case 'timer.held':
    case 'timer.released':
    case 'timer.completed':
    case 'timer.canceled':
      return { executionId, ...moved }
    case 'signal.received':
      return { signal: source.nodeName ?? source.node, executionId }
    case 'step.unserved':
    case 'decision.confirmed':
    case 'decision.rejected':
    case 'decision.escalated':
    case 'letter.opened':
    case 'letter.requeued':
    case 'letter.resolved':
    case 'letter.discarded':
      return step
    default:
      return { ...step, payload: decodeValue(source.payload) } satisfies Partial<Record<keyof CustomEvent, unknown>>
  }
}

const complete: FinalizingDecision = 'all_complete'
const blocked: FinalizingDecision = 'blocked_by_failures'

function pauseOf({ payload }: Source): { cause: PauseCause | null; decision: FinalizingDecision | null } {
  const cause = payload === null ? null : (JSON.parse(payload) as { cause: PauseCause }).cause
  return { cause, decision: cause === 'exception' ? blocked : null }
}

/** The nodes that a deploy took away, in the event of the healing. */
export function removedIn(payload: string | null | undefined): readonly string[] {
  return payload ? (JSON.parse(payload) as { removed: string[] }).removed : []
}

function lasted({ at, since }: Pick<EventRecord, 'at' | 'since'>): number | null {
  return since === null ? null : Math.max(0, at - since) / 1000
}

function errorOf({ payload }: Source): EventError | null {
  return payload === null ? null : (JSON.parse(payload) as EventError)
}

/** A step that could not be undone keeps the outcome that it had: what failed is its compensation. */
function failureOf(source: Source): { outcome: Outcome | null; ranMs: number | null; error: EventError } {
  const outcome = source.from === 'compensating' ? notUndone : source.outcome
  return { outcome, ranMs: lasted(source), error: errorOf(source) ?? lostWorker(source.reason ?? outcome) }
}

const notUndone: Outcome = 'compensation_failed'

function lostWorker(message: string | null): EventError {
  return { className: 'Error', message: message ?? 'it failed' }
}
