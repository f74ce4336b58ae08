/**
 * What `this.cancel()`, `this.pause()` and their siblings throw. It is not an `Error`: nothing failed, and error
 * reporters should leave it alone.
 */
import { sanitizeText } from '../primitives/sanitize-text.ts'

const brand = Symbol.for('geneva-drive.flow-control')
const maxReasonBytes = 10_000

/** `suspend` is what a resumable step throws when it stops between two items. */
export type FlowControlAction =
  | 'cancel'
  | 'pause'
  | 'skip'
  | 'finish'
  | 'restart'
  | 'reattempt'
  | 'suspend'
  | 'postpone'

export interface FlowControlOptions {
  readonly reason?: string | undefined
  readonly waitMs?: number
  readonly rewind?: boolean
  readonly result?: unknown
}

/** Ends the step that threw it and tells the engine what comes next. Code that catches it must throw it on. */
export class FlowControl {
  readonly action: FlowControlAction
  readonly reason: string | null
  /** How long a reattempt, a suspended or postponed step or a restarted workflow waits; 0 for every other action. */
  readonly waitMs: number
  /** A reattempt of a resumable step begins from the start. */
  readonly rewind: boolean
  /** What `finish` was given, or the input that `restart` was given; `undefined` for every other action. */
  readonly result: unknown

  constructor(action: FlowControlAction, options: FlowControlOptions = {}) {
    this.action = action
    // Plain JavaScript may pass anything as the reason, and a failure to note why must not undo the what.
    this.reason =
      options.reason === undefined || options.reason === null ? null : sanitizeText(options.reason, maxReasonBytes)
    this.waitMs = options.waitMs ?? 0
    this.rewind = options.rewind ?? false
    this.result = options.result
    Object.defineProperty(this, brand, { value: true })
    Object.freeze(this)
  }
}

/** True for what flow control throws, also across copies of the package: `if (isFlowControl(error)) throw error`. */
export function isFlowControl(value: unknown): value is FlowControl {
  return typeof value === 'object' && value !== null && brand in value
}
