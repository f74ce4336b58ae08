/**
 * Spans: one for each start, as a producer, and one for each attempt, as its consumer. Attempts that begin soon after the
 * start are its children, in whatever process they run; later ones begin a trace of their own with a link to it. Whatever
 * the tracer does, the engine goes on.
 */
import type { AttemptSpan, StartSpan, Tracing } from '../../engine/tracing.ts'
import { describeError } from '../../primitives/describe-error.ts'
import type { CommittedEvent } from '../../store/event-store.ts'
import type { ClaimedExecution } from '../../store/records.ts'
import { stepLabel, workflowLabel } from './measure-events.ts'
import type { Attributes, OpenTelemetryApi, Span, Tracer } from './open-telemetry-api.ts'
import { readTrace, writeTrace } from './trace-place.ts'

/** A span with more ids than this is of use to nobody. */
const maxIds = 100

export class OpenTelemetryTraces implements Tracing {
  readonly #api: OpenTelemetryApi
  readonly #linkAfterMs: number
  readonly #tracer: Tracer
  /** Attempts under way in this process, by execution. */
  readonly #open = new Map<string, { outcome: string | null }>()

  constructor(api: OpenTelemetryApi, name: string, linkAfterMs: number) {
    this.#api = api
    this.#linkAfterMs = linkAfterMs
    this.#tracer = api.trace.getTracer(name)
  }

  start(type: string, by: 'caller' | 'clock'): StartSpan {
    const workflow = workflowLabel(type)
    const span = quietly(() =>
      this.#tracer.startSpan(
        `start ${workflow}`,
        { kind: this.#api.SpanKind.PRODUCER, attributes: { 'geneva.workflow.type': workflow } },
        by === 'caller' ? this.#api.context.active() : this.#api.ROOT_CONTEXT,
      ),
    )
    return {
      trace: quietly(() => span && writeTrace(span.spanContext())) ?? null,
      end: ids =>
        this.#end(span, () => {
          const [id = ''] = ids
          const many = { 'geneva.workflow.ids': ids.slice(0, maxIds), 'geneva.workflow.count': ids.length }
          span?.setAttributes(ids.length === 1 ? { 'geneva.workflow.id': id } : many)
        }),
      fail: error => this.#end(span, () => this.#fail(span, error)),
    }
  }

  attempt(claimed: ClaimedExecution): AttemptSpan {
    const { execution } = claimed
    const span = quietly(() => this.#startAttempt(claimed))
    const open = { outcome: null }
    this.#open.set(execution.id, open)
    const end = (facts: () => void) => {
      this.#open.delete(execution.id)
      this.#end(span, facts)
    }
    return {
      run: work => this.#within(span, work),
      end: ({ report, errors, recorded }) =>
        end(() => {
          span?.setAttributes({ 'geneva.outcome': open.outcome ?? (recorded ? report.kind : 'claim lost') })
          if (!recorded) span?.addEvent('claim lost')
          for (const error of errors) this.#fail(span, error)
        }),
      abandon: error => end(() => this.#fail(span, error)),
    }
  }

  /** What became of an attempt is told by its event, which comes before its end. */
  note(events: readonly CommittedEvent[]): void {
    if (this.#open.size === 0) return
    for (const { event } of events) {
      const open = event.executionId ? this.#open.get(event.executionId) : undefined
      if (open && event.outcome) open.outcome = event.outcome
      else if (open && event.type === 'step.suspended') open.outcome = 'suspended'
    }
  }

  #startAttempt(claimed: ClaimedExecution): Span {
    const { workflow, execution, trace } = claimed
    const { trace: traces, ROOT_CONTEXT: root, SpanKind } = this.#api
    const name = `${workflowLabel(workflow.type)} ${stepLabel(execution)}`
    const started = readTrace(trace)
    const startedAt = Math.max(execution.startedAt ?? 0, execution.dueAt)
    // What goes on as a new workflow again and again would have a trace without an end.
    const isLate = workflow.continues !== null || (startedAt - workflow.createdAt) / 1000 > this.#linkAfterMs
    const links = started !== null && isLate ? [{ context: started }] : []
    const parent = started === null || isLate ? root : traces.setSpanContext(root, started)
    return this.#tracer.startSpan(name, { kind: SpanKind.CONSUMER, attributes: attributesOf(claimed), links }, parent)
  }

  /** Once, whatever the context manager does. */
  #within<T>(span: Span | null, work: () => Promise<T>): Promise<T> {
    let running: Promise<T> | null = null
    const once = () => {
      running ??= work()
      return running
    }
    if (span !== null) {
      // Not what is active here: that is whatever was so when the worker was started.
      const { trace, context, ROOT_CONTEXT } = this.#api
      quietly(() => void context.with(trace.setSpan(ROOT_CONTEXT, span), once))
    }
    return once()
  }

  #fail(span: Span | null, error: unknown): void {
    const { className, message } = describeError(error)
    span?.recordException(error instanceof Error ? error : { name: className, message })
    span?.setStatus({ code: this.#api.SpanStatusCode.ERROR, message })
  }

  #end(span: Span | null, facts: () => void): void {
    quietly(facts)
    quietly(() => span?.end())
  }
}

function attributesOf({ workflow, execution }: ClaimedExecution): Attributes {
  return {
    'geneva.workflow.id': workflow.id,
    'geneva.workflow.type': workflowLabel(workflow.type),
    'geneva.execution.id': execution.id,
    'geneva.step': execution.nodeName ?? execution.node,
    'geneva.attempt': execution.attempt,
    'geneva.queue': execution.queue,
    ...(execution.owner === null ? {} : { 'geneva.worker.id': execution.owner }),
  }
}

/** The answer, or `null` if there is none because it threw. */
export function quietly<T>(work: () => T): T | null {
  try {
    return work()
  } catch {
    // Telemetry that fails is no reason for anything else to fail.
    return null
  }
}
