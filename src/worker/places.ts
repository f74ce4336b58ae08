/**
 * Offers room to whoever starts workflows in the same process. None where a claim would not take the step, and none while
 * more is due than there is room for: what waits in line comes first.
 */
import type { Opener, Opening } from '../engine/openings.ts'
import type { ClaimedExecution } from '../store/records.ts'
import type { ClaimPlan } from './claim-plan.ts'
import type { Lease } from './lease.ts'
import type { QueueRules } from './queue-rules.ts'
import type { RunningSteps } from './running-steps.ts'

export interface PlaceParts {
  readonly running: RunningSteps
  readonly concurrency: number
  /** As they are now. */
  now(): { readonly plan: ClaimPlan | null; readonly rules: QueueRules; readonly lease: Lease | null }
  readonly stopped: AbortSignal
  perform(claimed: ClaimedExecution): void
}

export class Places implements Opener {
  readonly #parts: PlaceParts

  constructor(parts: PlaceParts) {
    this.#parts = parts
  }

  keepPlace(queue: string, handler: string): Opening | null {
    const { running, concurrency, perform, stopped } = this.#parts
    const { plan, rules, lease } = this.#parts.now()
    if (stopped.aborted || plan === null || lease === null || running.size >= concurrency) return null
    const limit = plan.limitOf(queue)
    const isFull = limit !== null && running.inQueue(queue) >= limit
    if (plan.isBehind || isFull || !lease.healthy || !plan.serves(queue, handler)) return null
    if (rules.isPaused(queue) || rules.isLimited({ queue, handler })) return null
    const giveUp = running.keepPlace(queue)
    return {
      workerId: lease.workerId,
      revision: rules.revision,
      begin(claimed) {
        giveUp()
        perform(claimed)
      },
      giveUp,
    }
  }

  runs(workflowId: string): boolean {
    return this.#parts.running.runs(workflowId)
  }
}
