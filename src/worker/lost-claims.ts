/**
 * Claims whose answers were lost: rows that are this worker's, and that nobody runs. They are run while they are fresh, and taken
 * over like those of a dead worker when they are not.
 */
import type { Engine } from '../engine/engine.ts'
import { failureOf, takeOver } from '../engine/take-over.ts'
import type { ActiveExecution, ClaimedExecution } from '../store/records.ts'
import type { ErrorListener } from './error-listener.ts'
import type { RunningSteps } from './running-steps.ts'
import { Turns } from './turns.ts'

export interface LostClaimsParts {
  readonly engine: Engine
  readonly running: RunningSteps
  readonly onError: ErrorListener
  readonly leaseMs: number
  perform(claimed: ClaimedExecution): void
}

export class LostClaims {
  readonly #parts: LostClaimsParts
  readonly #turns = new Turns()

  constructor(parts: LostClaimsParts) {
    this.#parts = parts
  }

  /**
   * A claim whose answer was lost may have been committed: what is ours and does not run yet runs now. Past half a lease this
   * is left to the heartbeat, which takes over what it finds.
   */
  async adopt(workerId: string, since: number): Promise<void> {
    const { engine, running, leaseMs, perform } = this.#parts
    const look = async () => {
      const held = await engine.store.heldBy(workerId)
      return performance.now() - since > leaseMs / 2 ? [] : held
    }
    await running.adopt(look, perform)
  }

  /** A claim or a timer whose answer was lost: the row is ours and nobody runs it. */
  async takeOver(workerId: string, ids: ReadonlySet<string>): Promise<void> {
    const { engine, running, onError } = this.#parts
    try {
      const held = await engine.store.heldBy(workerId)
      const lost = held.map(claimed => claimed.execution).filter(({ id }) => ids.has(id))
      // Also while one waits its turn, that one and others may be found and taken up.
      const still = (rows: readonly ActiveExecution[]) => {
        const known = running.ids()
        return rows.filter(({ id }) => !known.has(id))
      }
      const left = await takeOver(engine, still(lost), { still })
      this.#turns.note(left.passed)
      // What has had no turn yet is found again by the heartbeat.
      await this.#turns.takeEach(async workflowId => {
        const rows = still(lost.filter(row => row.workflowId === workflowId))
        const { passed, failed } = await takeOver(engine, rows, { waits: true, still })
        for (const [id, failure] of failed) left.failed.set(id, failure)
        return !passed.has(workflowId)
      })
      const failure = failureOf(left)
      if (failure !== null) onError.report(failure, null)
    } catch (error) {
      onError.report(error, null)
    }
  }
}
