/** Turns events, as they are committed, into measurements. Pure but for the meters. */
import { isEnd } from '../../engine/end-watch.ts'
import { ownerOf } from '../../engine/plan.ts'
import type { NewEvent } from '../../store/change.ts'
import type { CommittedEvent } from '../../store/event-store.ts'
import type { Labels, Meters } from './metric-table.ts'

/** Names of workflows that go by a graph of their own alone. */
const withoutClass = '(graph)'

/** Events that were committed together. */
export function measureEvents(events: readonly CommittedEvent[], meters: Meters): void {
  for (const committed of events) measure(committed, meters, events)
}

function measure(committed: CommittedEvent, meters: Meters, together: readonly CommittedEvent[]): void {
  const { event } = committed
  const workflow = workflowLabel(committed.workflowType)
  const step = { workflow, step: stepLabel(event) }
  switch (event.type) {
    case 'workflow.started':
      meters.count('geneva.workflows.started', { workflow })
      // A graph without nodes is over as soon as it is started.
      if (isEnd(event.to ?? '')) measureWorkflowEnd(committed, workflow, meters)
      break
    case 'workflow.finished':
    case 'workflow.failed':
    case 'workflow.canceled':
    case 'workflow.aborted':
      measureWorkflowEnd(committed, workflow, meters)
      break
    case 'workflow.paused':
    case 'workflow.dlq':
      meters.count('geneva.workflows.paused', { workflow, cause: pauseCause(committed) })
      break
    case 'step.started':
    case 'compensation.started':
      measureStart(committed, step, meters)
      break
    case 'step.completed':
    case 'step.failed':
    case 'step.skipped':
    case 'step.canceled':
    case 'compensation.completed':
    case 'compensation.failed':
    case 'compensation.skipped':
      // A step that could not be undone had ended before, and is counted already.
      if (event.from !== 'compensating') measureEnd(committed, step, meters, together)
      break
    case 'letter.opened':
      meters.count('geneva.dead_letters.opened', { ...step, reason: event.reason ?? '' })
      break
  }
}

/** One that says nothing of a beginning ended when it began. */
function measureWorkflowEnd(committed: CommittedEvent, workflow: string, meters: Meters): void {
  const ended = { workflow, state: committed.event.to ?? '' }
  meters.count('geneva.workflows.ended', ended)
  meters.record('geneva.workflow.duration', ended, secondsSince(committed) ?? 0)
}

function measureStart(committed: CommittedEvent, step: Labels, meters: Meters): void {
  const what = whatOf(committed.event)
  meters.count(`geneva.${what}s.started`, step)
  // One that begins right after the step before it has not waited.
  meters.record(`geneva.${what}.wait`, step, secondsSince(committed) ?? 0)
}

function measureEnd(
  committed: CommittedEvent,
  step: Labels,
  meters: Meters,
  together: readonly CommittedEvent[],
): void {
  const { event } = committed
  const what = whatOf(event)
  meters.count(`geneva.${what}s.ended`, { ...step, outcome: event.outcome ?? '' })
  const seconds = secondsSince(committed)
  if (seconds !== null) meters.record(`geneva.${what}.duration`, step, seconds)
  if (!event.type.endsWith('.failed')) return
  meters.count(`geneva.${what}s.failed`, { ...step, error: errorClass(committed) })
  if (isRetried(committed, together)) meters.count(`geneva.${what}s.retried`, step)
}

/** Undoing a step is counted apart from doing it, under the name of the step. */
function whatOf({ type }: NewEvent): 'compensation' | 'execution' {
  return type.startsWith('compensation.') ? 'compensation' : 'execution'
}

/** A step that took too long, or whose worker was lost, is tried again if its next attempt comes with its end. */
function isRetried({ event }: CommittedEvent, together: readonly CommittedEvent[]): boolean {
  if (event.outcome === 'reattempted_by_exception') return true
  if (event.outcome !== 'timed_out' && event.outcome !== 'recovered') return false
  const family = event.type.slice(0, event.type.indexOf('.'))
  return together.some(
    ({ event: next }) =>
      (next.type === `${family}.scheduled` || next.type === `${family}.started`) &&
      next.workflowId === event.workflowId &&
      next.node === event.node &&
      next.attempt === (event.attempt ?? 0) + 1,
  )
}

function secondsSince({ event, at }: CommittedEvent): number | null {
  return typeof event.since === 'number' ? Math.max(0, at - event.since) / 1e6 : null
}

function pauseCause({ event }: CommittedEvent): string {
  if (event.type === 'workflow.dlq') return 'dead letter'
  return String(payloadOf(event.payload).cause ?? 'request')
}

function errorClass({ event }: CommittedEvent): string {
  return String(payloadOf(event.payload).className ?? event.outcome ?? '')
}

function payloadOf(payload: string | null | undefined): Record<string, unknown> {
  return payload ? (JSON.parse(payload) as Record<string, unknown>) : {}
}

export function workflowLabel(type: string): string {
  return type === '' ? withoutClass : type
}

/** Items go by the name of the node that they belong to: there may be any number of them. */
export function stepLabel({ node, nodeName }: Pick<NewEvent, 'node' | 'nodeName'>): string {
  return nodeName ?? (node ? (ownerOf(node) ?? node) : '')
}
