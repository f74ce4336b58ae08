/**
 * Whoever is measured has run for a while before: code is compiled, connections are open. The same time for all, because one that
 * is faster has done more in the time that another needs for one round.
 */
import type { Size } from './workload.ts'

export const warmUpMs: Readonly<Record<Size, number>> = { full: 2_000, tiny: 0 }

/** One round at least, and others until the time is over. Tells how many. */
export async function warmUp(round: () => Promise<unknown>, size: Size): Promise<number> {
  const begun = performance.now()
  let rounds = 0
  do {
    await round()
    rounds++
  } while (performance.now() - begun < warmUpMs[size])
  return rounds
}
