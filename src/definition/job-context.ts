/** What a job can read and do while it runs: the counterpart of `this` in a step. The engine makes one per attempt. */
import type { Duration } from '../primitives/duration.ts'
import type { Undoing } from './compensation.ts'
import type { HeroId } from './hero.ts'
import type { CustomEventName, CustomEventPayload } from './register.ts'
import type { ReattemptOptions } from './steer.ts'
import type { ExecutionInfo } from './step-context.ts'
import type { Transaction } from './transaction.ts'

export interface JobContext {
  readonly workflowId: string
  /** The record the workflow is about, by type and id: jobs belong to no class that could say how to load it. */
  readonly hero: { readonly type: string; readonly id: HeroId } | null
  /** What the workflow was started with. It never changes. */
  readonly input: unknown
  /** This attempt at this node. */
  readonly execution: ExecutionInfo
  /** The same on every retry and recovery of this node; hand it to services that deduplicate by key. */
  readonly idempotencyKey: string
  /** Aborted when the job should stop: the workflow was canceled from outside, or the worker is shutting down. */
  readonly signal: AbortSignal
  readonly node: JobNode
  /** What is written here is committed with the outcome. Throws unless the job says `transaction: true`. */
  readonly transaction: Transaction
  /** Set where the job undoes a node: what that returned, and why. The arguments are those of the node. */
  readonly undo: Undoing<any> | null

  /** Reads what another node returned, by its name. Throws `OutputMissingError` when it has no output. */
  output<Output = unknown>(node: string): Promise<Output>
  /** Reads what another node returned, or gives the fallback when it has no output. */
  output<Output = unknown, Fallback = null>(node: string, fallback: Fallback): Promise<Output | Fallback>

  /** Tells the world that something has happened: `job.emit('order.shipped', { orderId })`. Written with the outcome of this node. */
  emit<const K extends CustomEventName>(type: K, payload: CustomEventPayload<K>): void

  /** Ends the workflow as `canceled`. */
  cancel(reason?: string): never
  /** Stops here until somebody resumes the workflow, which runs this node again. */
  pause(reason?: string): never
  /** Ends this node as `skipped` and goes on with what depends on it. */
  skip(reason?: string): never
  /** Ends the workflow as `finished`, leaving out the nodes that are left. */
  finish(result?: unknown): never
  /** Runs this node again, at once or after a while. A resumable job goes on where it was, unless it is rewound. */
  reattempt(options?: ReattemptOptions): never
  /** Not now: the same attempt begins anew after so long. */
  postpone(wait: Duration, reason?: string): never
}

/** The place in the graph that a job runs for. */
export interface JobNode {
  readonly id: string
  readonly name: string
  readonly metadata: Readonly<Record<string, unknown>>
}
