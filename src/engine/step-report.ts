/**
 * What running a step came to, before anything is decided about it.
 */
import type { ExceptionPolicy } from '../definition/workflow-definition.ts'
import type { ErrorRecord } from '../primitives/describe-error.ts'
import type { StartOrder } from '../store/store.ts'

export type StepReport =
  | {
      readonly kind: 'completed'
      readonly output: string | null
      /** What a condition came to. */
      readonly result?: boolean
      /** The lost call of an earlier attempt had happened. */
      readonly resolved?: boolean
      /** People have confirmed it. */
      readonly confirmed?: boolean
    }
  | { readonly kind: 'finish'; readonly output: string | null; readonly reason: string | null }
  /** The workflow is finished and goes on as a new one, with this input, encoded. */
  | { readonly kind: 'restart'; readonly input: string | null; readonly lane: string; readonly waitMs: number }
  | { readonly kind: 'reattempt'; readonly waitMs: number; readonly rewind: boolean; readonly reason: string | null }
  /** Not now: the same attempt begins anew after so long. */
  | { readonly kind: 'postpone'; readonly waitMs: number; readonly reason: string | null }
  /** A resumable step stops between two items and goes on later. */
  | { readonly kind: 'suspend'; readonly waitMs: number; readonly reason: string | null }
  /** An `each` node has told its items, encoded: each gets an execution of its own. */
  | { readonly kind: 'items'; readonly items: readonly string[] }
  /** A node that waits for people or a message has been reached. */
  | { readonly kind: 'wait' }
  /** A `child` node is to start this workflow, in the transaction that lets it wait. */
  | { readonly kind: 'child'; readonly order: StartOrder }
  /** A `child` node waits for a workflow that exists. */
  | { readonly kind: 'watch'; readonly workflowId: string }
  | { readonly kind: 'skip'; readonly by: 'condition' | 'flow_control'; readonly reason: string | null }
  | { readonly kind: 'cancel'; readonly by: 'condition' | 'flow_control'; readonly reason: string | null }
  /** `hold`: a resumable step stays where it is; any other gets a new attempt when the workflow goes on. */
  | { readonly kind: 'pause'; readonly hold: boolean; readonly reason: string | null }
  /** `retryMs`: the step's own retries are not used up, and the next attempt comes after so long. Only without one does the policy count. */
  | {
      readonly kind: 'threw'
      readonly error: ErrorRecord
      readonly policy: ExceptionPolicy
      readonly retryMs: number | null
      /** How many failures in a row the step's own retries take; the policy counts those beyond. */
      readonly retried?: number
      /** It took longer than it may. */
      readonly timedOut?: boolean
      /** Code that must not be called twice was cut off: nobody knows what it has done. */
      readonly unknown?: boolean
    }
  /**
   * Given back unfinished: the worker shuts down. `called`: its code was under way, and may have done what it is for; `false`: it
   * was not, whatever its mark says.
   */
  | { readonly kind: 'released'; readonly called?: boolean }
