/** What a node that asks people and has no code leaves behind: what was decided, as those that come after it read it. */
import type { Decided } from '../definition/decision.ts'
import { decodeValue, encodeValue } from '../primitives/json-codec.ts'
import type { NewDecision } from '../store/change.ts'

/** In the order in which they were made; the last is the one with which the quorum was reached. */
export function decidedOutput(
  given: readonly Pick<NewDecision, 'decision' | 'by' | 'comment' | 'data'>[],
): string | null {
  const decisions = given.map(({ decision, by, comment, data }) => ({
    decision,
    by,
    comment,
    data: decodeValue(data) ?? null,
  }))
  const last = decisions.at(-1)
  if (last === undefined) return null
  const decided: Decided = { ...last, decisions }
  // Each part was measured when it came.
  return encodeValue(decided, { what: 'What was decided', maxBytes: Number.POSITIVE_INFINITY })
}
