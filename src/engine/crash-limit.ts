/** How often the worker of a step may die before it is given up. */
import type { ActiveExecution } from '../store/records.ts'

/** How many takeovers in a row a step survives. */
export const crashLimit = 3
/** After so many the next one is the last. */
export const lastChance = crashLimit - 1

/** Without a start mark it is not known whether this step ran at all, so its neighbours' deaths count once at most. */
export function crashesAfter(row: Pick<ActiveExecution, 'crashes' | 'startMark'>): number {
  return row.startMark ? row.crashes + 1 : Math.max(row.crashes, 1)
}
