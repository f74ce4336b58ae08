/**
 * Rounds: what a workflow does between two times that somebody sends it back. Attempts at a node go on counting, so a number
 * per node tells those of earlier rounds from those of this one.
 */

/**
 * By the name that the node had then: its attempts up to this one belong to an earlier round. `null`: there was none. Where
 * it matters to a rollback, the ends of the rounds before the last stand under `#`, their number and the name, too.
 */
export type Rounds = Readonly<Record<string, number>> | null

/** How many attempts at the node belong to earlier rounds. */
export function attemptsBefore(rounds: Rounds, node: string): number {
  return rounds?.[node] ?? 0
}

export function isOfThisRound(rounds: Rounds, { node, attempt }: { readonly node: string; readonly attempt: number }) {
  return attempt > attemptsBefore(rounds, node)
}

/** The last attempt at a node in the round that is over. */
type LastAttempt = { readonly node: string; readonly attempt: number; readonly state: string; readonly outcome: string }

/** From now on what these nodes have done belongs to earlier rounds. */
export function nextRounds(rounds: Rounds, last: readonly LastAttempt[]): NonNullable<Rounds> {
  const next: Record<string, number> = { ...rounds }
  for (const { node, attempt, state, outcome } of last) {
    next[node] = attempt
    // A rollback undoes what has completed, whatever its round. Of one that ended otherwise it has to know the last call.
    if (state !== 'completed' && outcome !== 'not_taken') next[`#${attempt}/${node}`] = attempt
  }
  return next
}

/**
 * Tells attempts at the same node in different rounds apart. A round in which the node has completed may not be told from
 * the one that follows it. `nameOf`: the name that a node has now, which it may have got within a round.
 */
export function roundTeller(
  rounds: Rounds,
  nameOf: (node: string) => string,
): (of: { readonly node: string; readonly attempt: number }) => string {
  if (rounds === null) return ({ node }) => nameOf(node)
  const ends = new Map<string, number[]>()
  for (const [key, end] of Object.entries(rounds)) {
    const node = nameOf(key.startsWith('#') ? key.slice(key.indexOf('/') + 1) : key)
    ends.set(node, [...(ends.get(node) ?? []), end])
  }
  return ({ node, attempt }) => {
    const name = nameOf(node)
    const before = (ends.get(name) ?? []).filter(end => end < attempt)
    return `${Math.max(0, ...before)}/${name}`
  }
}
