/** What a worker asks for when it claims, and what it goes by. */
import type { LaneLooks } from './lane-looks.ts'
import type { LimitKey } from './limit-store.ts'

export interface ClaimSource {
  readonly queue: string
  readonly handler: string
  readonly generation: number
}

export interface ClaimRequest {
  readonly workerId: string
  readonly sources: readonly ClaimSource[]
  readonly limit: number
  /** Some of the rows may have a priority, and go before others that came earlier. */
  readonly prioritized?: boolean
  /** Restricts the claim to one workflow, for the test kit. */
  readonly workflowId?: string
  /** Of the rows that have crashed so often, no more than `take`; the rest is left to others. */
  readonly crashed?: { readonly times: number; readonly take: number }
  /** The rules that the sources were chosen by. If they have changed, nothing is claimed and `StaleLimits` is thrown. */
  readonly revision?: number
  /** The sources are held to these limits. */
  readonly limited?: ClaimLimits
  /** Whoever asks does so again soon: rejects where others keep it waiting for more than a moment. */
  readonly comesAgain?: boolean
}

export interface ClaimLimits {
  readonly keys: readonly LimitKey[]
  /** The class that a handler belongs to, where it has limits. */
  readonly classes: ReadonlyMap<string, string>
  /** Handlers whose rows may stand in lanes. */
  readonly laned: ReadonlySet<string>
  readonly lanes: LaneLooks
}

/** The limits have changed since the worker read them. */
export class StaleLimits extends Error {
  constructor() {
    super('The limits have changed since they were read.')
  }
}
