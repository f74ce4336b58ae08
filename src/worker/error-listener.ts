/**
 * Hands errors to the application, after they are recorded, and to its log, where it has one. A listener that throws does
 * no harm.
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

/** Ids that tell what an error is about. */
export type ErrorIds = Readonly<Record<string, string | number | null>>

/** Writes an error down, with the ids of what it is about. */
export type ErrorLog = (error: unknown, ids: ErrorIds) => void

export class ErrorListener {
  readonly #onError: OnError | null
  readonly #log: ErrorLog | null
  readonly #ids: () => ErrorIds

  /** Without either, errors go to the console. */
  constructor(onError: OnError | null, log: ErrorLog | null = null, ids: () => ErrorIds = () => ({})) {
    this.#onError = onError ?? (log === null ? writeToConsole : null)
    this.#log = log
    this.#ids = ids
  }

  /** The same for what has an id of its own. */
  withIds(ids: () => ErrorIds): ErrorListener {
    return new ErrorListener(this.#onError, this.#log, ids)
  }

  report(error: unknown, claimed: ClaimedExecution | null, ids: ErrorIds = {}): void {
    this.tell(error, claimed === null ? null : contextOf(claimed), ids)
  }

  tell(error: unknown, context: ErrorContext | null, ids: ErrorIds = {}): void {
    try {
      this.#log?.(error, { ...this.#ids(), ...context, ...ids })
      const returned = this.#onError?.(error, context)
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
    step: execution.nodeName ?? execution.node,
    attempt: execution.attempt,
    executionId: execution.id,
  }
}

function writeToConsole(error: unknown, context: ErrorContext | null): void {
  const where = context ? `step ${context.step} of ${context.workflow} ${context.workflowId}` : 'worker'
  console.error(`[geneva-drive] ${where}:`, error)
}
