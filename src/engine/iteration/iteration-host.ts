/**
 * What an iteration needs from the worker that runs it.
 */
import type { Progress } from '../../store/records.ts'
import type { WorkInTransaction } from '../../store/store.ts'

export interface IterationHost {
  /** As it was when the step was claimed. */
  readonly progress: Progress
  /** Durable when it resolves. False when the claim is lost: somebody else goes on from what was written before. */
  write(progress: Progress): Promise<boolean>
  /**
   * Commits the application's writes together with the progress, or neither. `lost` when the claim is; `stopped` when the step
   * should stop before there was a transaction.
   */
  transact<Result>(
    progress: Progress,
    work: WorkInTransaction<Result>,
  ): Promise<{ readonly result: Result } | 'lost' | 'stopped'>
  /** Why the step should stop here, after so many items of this run; `null` when it may go on. */
  interrupted(doneNow: number): string | null
}
