/**
 * A round takes a third of a second or less, and a collection of garbage or a neighbour on the machine as much as that: it is repeated
 * for a while, and the middle one counts.
 */
import type { Size } from './workload.ts'

export const measuredMs: Readonly<Record<Size, number>> = { full: 2_000, tiny: 0 }

export interface MiddleRound {
  readonly ms: number
  /** How many there were. */
  readonly rounds: number
}

/** `round` tells how many milliseconds it took. One at least, and others until the time is over. */
export async function middleRound(round: () => Promise<number>, size: Size): Promise<MiddleRound> {
  const times: number[] = []
  const begun = performance.now()
  do times.push(await round())
  while (performance.now() - begun < measuredMs[size])
  return { ms: middleOf(times), rounds: times.length }
}

/** The slower of the two in the middle, where there are two. */
export function middleOf(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0
}
