/**
 * Keeps what steps throw, so that a test can look at it and the console stays quiet.
 */
import type { ErrorContext, OnError } from '../worker/error-listener.ts'

export class CollectedErrors {
  readonly #items: { readonly thrown: unknown; readonly workflowId: string | null }[] = []
  readonly #alsoTell: OnError | undefined

  constructor(alsoTell: OnError | undefined) {
    this.#alsoTell = alsoTell
  }

  /** Given to Geneva as `onError`. */
  readonly collect = (thrown: unknown, context: ErrorContext | null): unknown => {
    this.#items.push({ thrown, workflowId: context?.workflowId ?? null })
    return this.#alsoTell?.(thrown, context)
  }

  all(): readonly unknown[] {
    return this.#items.map(item => item.thrown)
  }

  lastOf(workflowId: string): { readonly thrown: unknown } | null {
    return this.#items.findLast(item => item.workflowId === workflowId) ?? null
  }
}
