/** What may be said with the parts of a change: who asked, why, and what goes with the end or the move of a row. */
import type { ErrorRecord } from '../primitives/describe-error.ts'
import type { Due, RowMove } from '../store/change.ts'
import type { Progress } from '../store/records.ts'

/** Who asked for a change from outside, and why. */
export interface Request {
  readonly by: string | null
  readonly reason: string | null
}

export interface EndingDetails {
  readonly error?: ErrorRecord | null
  readonly reason?: string | null
  /** What the event says where the reason is the answer of a condition, by which decisions go. */
  readonly eventReason?: string | null
  readonly output?: string | null
  readonly by?: string | null
}

export interface MoveDetails {
  readonly heldFrom?: RowMove['heldFrom']
  readonly progress?: Progress
  readonly due?: Due
  readonly input?: string
  readonly reason?: string | null
  readonly crashes?: number
  /** How often it has run by now, where nothing else of its progress is said. */
  readonly runs?: number
}
