/** What a worker asks to be recorded about a step, and what it is told. */
import type { EmittedEvent } from '../definition/step-context.ts'
import type { ActiveExecution, ClaimedExecution, Progress } from '../store/records.ts'
import type { IdPool } from './id-pool.ts'
import type { StepReport } from './step-report.ts'

/** How far a resumable step has come; `as written`: what its row says counts; `null` for any other step. */
export type ReportedProgress = Progress | 'as written' | null

/** The row, with what is reported of it. */
export function withProgress(row: ActiveExecution, progress: ReportedProgress): ActiveExecution {
  return progress === null || progress === 'as written' ? row : { ...row, progress }
}

export interface FinishRequest {
  readonly claimed: ClaimedExecution
  readonly report: StepReport
  readonly progress: ReportedProgress
  /** What the step has emitted, to be written with its outcome. */
  readonly emitted: readonly EmittedEvent[]
  /** The worker may go on at once with the next step of a queue it serves. */
  readonly runOn: {
    /** Asked first, about the step that takes the place of the one that has ended. */
    serves(queue: string, handler: string): boolean
    /** Asked about each further one that falls due: whether it has a place of its own. */
    servesAlso?(queue: string, handler: string): boolean
    /** That of the limits which the answer goes by. If they have changed, nothing runs on. */
    readonly revision?: number
  } | null
  /** Reserved for what follows; the same over all tries, so that a lost answer can be settled. */
  readonly ids: IdPool
  /** An earlier try may have been committed. */
  readonly repeated: boolean
}

export type FinishResult =
  /** `also`: what else the worker has begun, beside what it goes on with. */
  | { readonly kind: 'recorded'; readonly next: ClaimedExecution | null; readonly also: readonly ClaimedExecution[] }
  | { readonly kind: 'refused' }
