/**
 * What one execution gives to the instance that runs it. The engine makes one per attempt; the getters and flow
 * control methods of `Workflow` read and record through it, so that the instance itself can be frozen.
 */
import type { FlowControl } from './flow-control.ts'
import type { HeroId } from './hero.ts'

export interface ExecutionInfo {
  readonly id: string
  readonly node: string
  readonly attempt: number
  /** The same on every retry and recovery of this node; hand it to services that deduplicate by key. */
  readonly idempotencyKey: string
  /** What this execution alone works on: one item of many, or what its dead letter was requeued with. */
  readonly input?: unknown
}

/** An event of the application, encoded. */
export interface EmittedEvent {
  readonly type: string
  readonly payload: string
}

export interface StepContext {
  readonly workflowId: string
  /** The hero by type and id, whether it can be loaded or not. */
  readonly heroKey: { readonly type: string; readonly id: HeroId } | null
  readonly execution: ExecutionInfo
  readonly signal: AbortSignal
  readonly input: unknown
  /** Returns the loaded hero; throws `HeroGoneError` where there should be one and is not. */
  hero(): unknown
  /** Reads the stored output of another node; throws `OutputMissingError` unless a fallback is given. */
  output(node: string, fallback: { readonly value: unknown } | null): Promise<unknown>
  /** Events that the code has emitted, to be written with its outcome. */
  readonly emitted: readonly EmittedEvent[]
  /** What comes of the attempt is decided, so that nothing can be added to it. */
  readonly hasEnded: boolean
  addEvent(event: EmittedEvent): void
  /** The transaction that the code runs in, as it gets to see it; `null` where there is none. */
  readonly transaction: unknown
  /** The first flow control asked for. It counts even when user code swallows the throw. */
  flowControl: FlowControl | null
}
