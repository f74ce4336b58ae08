/** Why a node does not run right now: every reason that there is, each with what a person needs to act on it. */
import type { Outcome, PauseCause, StoredWorkflowState } from '../store/records.ts'

/**
 * Why nothing follows a failed attempt by itself. `not_retryable`: the error was not worth another attempt. `not_retried`:
 * no retry is declared, or the code that would say so is not here. `paused_itself`: the step called `this.pause()`.
 */
export type FailureCause =
  | 'attempts_exhausted'
  | 'not_retryable'
  | 'not_retried'
  | 'crash_limit'
  | 'paused_itself'
  /** It must not be called twice, and nobody knows what its last call has done. */
  | 'unknown_outcome'

export interface StepError {
  readonly className: string
  readonly message: string
}

/** A step that takes a place under a limit. */
export interface LimitHolder {
  readonly workflowId: string
  readonly node: string
  readonly worker: string
  readonly since: Date | null
}

export type WaitReason =
  /** It is done and never runs again. */
  | { readonly kind: 'done'; readonly outcome: Outcome }
  /** It was left out: the workflow was past it, or has gone another way. Or it has failed, and a join can do without it. */
  | { readonly kind: 'left_out' }
  /** The workflow is over. */
  | { readonly kind: 'ended'; readonly state: StoredWorkflowState }
  /** The workflow is being stopped: nothing new starts. `until`: what still runs then loses its claim. */
  | { readonly kind: 'stopping'; readonly how: 'canceling' | 'finishing'; readonly until: Date | null }
  /** The workflow is paused: by a person, by a step of its own, or after an exception. */
  | {
      readonly kind: 'paused'
      readonly cause: PauseCause | null
      readonly by: string | null
      readonly reason: string | null
      readonly since: Date | null
    }
  /** The code does not have it any more. */
  | { readonly kind: 'lost' }
  /** What it depends on is not done. */
  | { readonly kind: 'dependencies'; readonly open: readonly string[] }
  /** Its latest attempt has failed, and nothing follows by itself. */
  | {
      readonly kind: 'failed'
      readonly why: FailureCause
      readonly attempt: number
      readonly error: StepError | null
      readonly at: Date
    }
  /** A worker runs it. `alive` is false when that worker's lease has lapsed: another one takes over. */
  | {
      readonly kind: 'claimed'
      readonly worker: string
      readonly host: string | null
      readonly since: Date | null
      readonly alive: boolean
    }
  /** Another workflow has to end first. Type and state are known for those that it has started itself. */
  | {
      readonly kind: 'child'
      readonly workflowId: string
      readonly type: string | null
      readonly state: StoredWorkflowState | null
    }
  /** So many of its items are not done. */
  | { readonly kind: 'items'; readonly open: number }
  /** An item that waits until one of the others is done. */
  | { readonly kind: 'place'; readonly limit: number | null }
  /** People have to decide. */
  | {
      readonly kind: 'people'
      readonly prompt: string | null
      readonly assignTo: readonly string[]
      readonly quorum: number
      /** Who has confirmed already; fewer than the quorum. */
      readonly confirmedBy: readonly string[]
      /** When the wait is over; `null`: it lasts for ever. */
      readonly until: Date | null
    }
  /** A message has to come. */
  | { readonly kind: 'signal'; readonly name: string }
  /** Something outside has to happen. */
  | { readonly kind: 'outside' }
  /** It threw, and its next attempt is due later. `attempts` is `null` where no retry is declared, or its code is not here. */
  | {
      readonly kind: 'backoff'
      readonly failures: number
      readonly attempts: number | null
      readonly until: Date
      readonly error: StepError | null
    }
  /** It is due later. */
  | { readonly kind: 'time'; readonly until: Date }
  /** It is due, and no live worker may claim it. `since`: when it fell due, or when the last one that could fell silent. */
  | {
      readonly kind: 'no_worker'
      readonly handler: string
      readonly queue: string
      readonly generation: number
      readonly since: Date
    }
  /** It is due, and its queue is paused. */
  | {
      readonly kind: 'queue_paused'
      readonly queue: string
      readonly by: string | null
      readonly reason: string | null
      readonly since: Date
    }
  /**
   * It is due, and a limit leaves no room: of its queue, its class, or its key in the class. With `perMs` so many may begin in
   * that time, and `until` says when the next one may; without, `holders` are those that run, the oldest first, up to ten.
   */
  | {
      readonly kind: 'limit'
      readonly of: 'queue' | 'class' | 'key'
      readonly name: string
      readonly key: string | null
      readonly most: number
      readonly perMs: number | null
      readonly running: number
      readonly holders: readonly LimitHolder[]
      readonly until: Date | null
    }
  /** Nothing keeps it, and yet nothing is scheduled: its workflow is brought in line with new code first. */
  | { readonly kind: 'not_scheduled' }
