/**
 * Hands errors to the application, after they are recorded. A listener that throws does no harm.
 */
import type { ClaimedExecution } from '../store/records.ts'

export interface ErrorContext {
  readonly workflowId: string
  readonly workflow: string
  readonly step: string
  readonly attempt: number
  readonly executionId: string
}

/** Gets every error of a step, a hook, a condition or a hero load. `context` is missing for errors of the worker itself. */
export type OnError = (error: unknown, context: ErrorContext | null) => unknown

export class ErrorListener {
  readonly #onError: OnError

  constructor(onError: OnError) {
    this.#onError = onError
  }

  report(error: unknown, claimed: ClaimedExecution | null): void {
    this.tell(error, claimed === null ? null : contextOf(claimed))
  }

  tell(error: unknown, context: ErrorContext | null): void {
    try {
      const returned = this.#onError(error, context)
      if (returned instanceof Promise) returned.catch(() => {})
    } catch {
      // Whatever the listener does, the engine goes on.
    }
  }
}

function contextOf({ workflow, execution }: ClaimedExecution): ErrorContext {
  return {
    workflowId: workflow.id,
    workflow: workflow.type,
    step: execution.node,
    attempt: execution.attempt,
    executionId: execution.id,
  }
}
