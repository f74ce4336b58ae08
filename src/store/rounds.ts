/**
 * Rounds: what a workflow does between two times that somebody sends it back. Attempts at a node go on counting, so a number
 * per node tells those of earlier rounds from those of this one.
 */

/** By the name that the node had then: its attempts up to this one belong to an earlier round. `null`: there was none. */
export type Rounds = Readonly<Record<string, number>> | null

/** How many attempts at the node belong to earlier rounds. */
export function attemptsBefore(rounds: Rounds, node: string): number {
  return rounds?.[node] ?? 0
}

export function isOfThisRound(rounds: Rounds, { node, attempt }: { readonly node: string; readonly attempt: number }) {
  return attempt > attemptsBefore(rounds, node)
}
