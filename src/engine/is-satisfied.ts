/** Whether what depends on a node may go on behind an attempt that has ended so. */
import type { LatestEnding } from '../store/change.ts'

/** A `completed` attempt that asked for another one does not satisfy anything. */
export function isSatisfied({ state, outcome }: Pick<LatestEnding, 'state' | 'outcome'>): boolean {
  if (state === 'completed') return outcome !== 'reattempted'
  return state === 'skipped' && outcome !== 'not_taken' && outcome !== 'stopped'
}
