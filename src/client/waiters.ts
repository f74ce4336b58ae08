/**
 * Waiting for workflows to end. An end in this process is pushed; for ends elsewhere all waiters share one small query.
 */

import { isEnd } from '../engine/end-watch.ts'
import type { Engine } from '../engine/engine.ts'
import type { WorkflowRecord } from '../store/records.ts'

interface Waiter {
  readonly id: string
  readonly resolve: (workflow: WorkflowRecord | null) => void
}

const firstPollMs = 50
const slowestPollMs = 500

export class Waiters {
  readonly #engine: Engine
  readonly #waiters = new Set<Waiter>()
  #timer: NodeJS.Timeout | null = null
  #pollMs = firstPollMs

  constructor(engine: Engine) {
    this.#engine = engine
    engine.ends.onEnd(id => {
      if ([...this.#waiters].some(waiter => waiter.id === id)) void this.#look()
    })
  }

  /** Resolves with the ended workflow, or with `null` when the time is over or the workflow is gone. */
  wait(id: string, timeoutMs: number): Promise<WorkflowRecord | null> {
    return new Promise(resolve => {
      const timer = timeoutMs > 2 ** 31 - 1 ? null : setTimeout(() => settle(null), timeoutMs)
      const settle = (workflow: WorkflowRecord | null) => {
        if (timer !== null) clearTimeout(timer)
        this.#waiters.delete(waiter)
        resolve(workflow)
      }
      const waiter: Waiter = { id, resolve: settle }
      this.#waiters.add(waiter)
      this.#pollMs = firstPollMs
      void this.#look()
    })
  }

  close(): void {
    for (const waiter of [...this.#waiters]) waiter.resolve(null)
    if (this.#timer !== null) clearTimeout(this.#timer)
  }

  async #look(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    const asked = [...this.#waiters]
    if (asked.length === 0) return
    try {
      const found = await this.#engine.store.workflowStates([...new Set(asked.map(waiter => waiter.id))])
      for (const waiter of asked) {
        const workflow = found.get(waiter.id)
        if (!workflow || isEnd(workflow.state)) waiter.resolve(workflow ?? null)
      }
    } catch {
      // The database is away; the next look may find it.
    }
    if (this.#waiters.size > 0 && this.#timer === null) {
      this.#timer = setTimeout(() => void this.#look(), this.#pollMs)
      this.#pollMs = Math.min(this.#pollMs * 1.2, slowestPollMs)
    }
  }
}
