/** What is wrong with one workflow, in words, and what can be done about it. */

export type ComplaintKind =
  /** The events themselves do not fit together. */
  | 'events'
  /** The state of the workflow is not what its events lead to. */
  | 'state'
  /** A row is not what its events lead to, is missing, or is one too many. */
  | 'execution'
  /** Something that must always be true is not. */
  | 'rule'
  /** A counter of a fan-in is not the number of parents that are open. */
  | 'counter'
  /** A dead letter is not what its events lead to, or stands where none can. */
  | 'letter'
  /** The hashes of what came after what do not fit. */
  | 'ancestry'

export interface Complaint {
  readonly kind: ComplaintKind
  /** In a sentence. */
  readonly problem: string
  readonly executionId?: string | null
  readonly node?: string | null
  readonly remedy: string
}

export const byHand =
  'Rows were changed, or taken away, by hand: put them back from a backup, or cancel the workflow and start it anew. If nobody did, please report it.'

export function remedyFor(stored: string, told: string | null): string {
  return told === null
    ? byHand
    : `Find out who has set the state to ${stored}. If it was not the engine, set it back to ${told}; the engine goes by what is stored.`
}
