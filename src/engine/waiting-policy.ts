/**
 * What the policy of a failed step says while a join can still do without its branch. It is kept as the reason of the attempt,
 * because the outcome may have to say something else, that its time was over: so it is found again if the join is lost.
 */
import type { ExceptionPolicy } from '../definition/workflow-definition.ts'
import type { LatestEnding } from '../store/change.ts'

/** What ends more than a branch. */
export type WaitingAction = Extract<ExceptionPolicy['action'], 'cancel' | 'rollback' | 'dlq' | 'pause'>

export interface WaitingPolicy {
  readonly action: WaitingAction
  /** Failures in a row, the last one included. */
  readonly failures: number
}

export function waitingReason({ action, failures }: WaitingPolicy): string {
  return `${action} waits after ${failures} ${failures === 1 ? 'failure' : 'failures'}: a join can do without it`
}

/** `null`: nothing has waited, its policy has acted. */
export function waitingPolicyOf({ state, reason }: Pick<LatestEnding, 'state' | 'reason'>): WaitingPolicy | null {
  if (state !== 'failed') return null
  const [, action, failures] = /^(cancel|rollback|dlq|pause) waits after (\d+) failures?: /.exec(reason ?? '') ?? []
  return action === undefined ? null : { action: action as WaitingAction, failures: Number(failures) }
}

/** The node that a workflow is stuck behind: one whose policy has acted, if there is any, so that what waits can still act. */
export function blockerAmong(failed: readonly LatestEnding[]): string | null {
  const acted = failed.find(ending => waitingPolicyOf(ending) === null)
  return (acted ?? failed[0])?.node ?? null
}
