/**
 * What the engine asks of those who trace it: a span for each start and each attempt, and the place in the trace that is
 * stored with a workflow. Nothing of it may throw or reject by itself.
 */
import type { ClaimedExecution } from '../store/records.ts'
import type { StepReport } from './step-report.ts'

export interface Tracing {
  /** Workflows of this type are about to be started, by whoever is active now, or because it is time. */
  start(type: string, by: 'caller' | 'clock'): StartSpan
  /** A worker is about to run this. */
  attempt(claimed: ClaimedExecution): AttemptSpan
}

/** One that is never ended is never seen: for a start that somebody else has made meanwhile. */
export interface StartSpan {
  /** Stored with the workflows; `null` where nothing is recorded. */
  readonly trace: string | null
  end(workflowIds: readonly string[]): void
  fail(error: unknown): void
}

export interface AttemptSpan {
  /** Calls it once, with the span as what is active. */
  run<T>(work: () => Promise<T>): Promise<T>
  /** `recorded`: false where the claim was lost. */
  end(end: { readonly report: StepReport; readonly errors: readonly unknown[]; readonly recorded: boolean }): void
  /** What came of it is not known. */
  abandon(error: unknown): void
}

/** The same as `work` where nobody traces. */
export async function traced<T>(
  tracing: Tracing | null,
  type: string,
  work: (trace: string | null) => Promise<T>,
  idsOf: (result: T) => readonly string[],
): Promise<T> {
  if (tracing === null) return work(null)
  const span = tracing.start(type, 'caller')
  try {
    const result = await work(span.trace)
    span.end(idsOf(result))
    return result
  } catch (error) {
    span.fail(error)
    throw error
  }
}
