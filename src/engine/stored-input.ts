/**
 * What the row of an execution works on, as it is stored: a value that somebody gave it, or a mark that the engine has made
 * for itself. This file alone knows the marks, and which is which. A mark carries the tag that the codec reserves, and the
 * codec escapes every value that has it, so nothing that anybody gives can be taken for a mark, whatever it looks like.
 * Timers are not meant: no code ever runs for them, and each says in its own way what it is for.
 */
import { tagKey } from '../primitives/tagged-types.ts'

/** What has ended the wait of a node, as the row of the node keeps it from then on, through all of its further attempts. */
export type Came =
  /** People have decided on this execution; a later attempt works on the same decisions. */
  | { readonly came: 'decision'; readonly on: string }
  | { readonly came: 'signal'; readonly id: string }
  | { readonly came: 'nothing' }

/** The workflow that a `child` node waits for, and whether that is its own. */
export interface ChildKey {
  readonly workflowId: string
  readonly isOwn: boolean
}

type Mark =
  | Came
  /** A `child` node: the workflow that it has started, or the one that was there already. */
  | { readonly child: string }
  | { readonly existing: string }
  /** A `child` node: the workflow that held the place of the one that it was to start. */
  | { readonly heldBy: string }
  /** A compensation: the execution that it undoes, and the event from which on nothing else is left to be undone. */
  | { readonly undoes: string; readonly place?: number }
  /** A call was lost, and its own code is asked first whether it happened. What it was given is kept beside it. */
  | { readonly reconcile: true; readonly given?: unknown }

const markTag = 'mark'

function written(mark: Mark): string {
  return JSON.stringify({ [tagKey]: markTag, value: mark })
}

function markIn(input: string | null): Mark | null {
  // Few rows have an input at all, and few of those a mark.
  if (input === null || !input.includes(tagKey)) return null
  const parsed = JSON.parse(input) as { readonly [tagKey]?: unknown; readonly value: Mark } | null
  return typeof parsed === 'object' && parsed?.[tagKey] === markTag ? parsed.value : null
}

/** Encoded: what somebody gave the execution to work on. `null`: nobody has given it anything. */
export function givenIn(input: string | null): string | null {
  const mark = markIn(input)
  if (mark === null) return input
  return 'given' in mark ? JSON.stringify(mark.given) : null
}

/** Somebody gives the execution something else. Whether a lost call happened is asked all the same. */
export function giving(input: string | null, given: string): string {
  return isReconciling(input) ? markReconcile(given) : given
}

export function markCame(came: Came): string {
  return written(came)
}

/** `null`: nothing has ended its wait. */
export function cameIn(input: string | null): Came | null {
  const mark = markIn(input)
  return mark !== null && 'came' in mark ? mark : null
}

export function markChild({ workflowId, isOwn }: ChildKey): string {
  return written(isOwn ? { child: workflowId } : { existing: workflowId })
}

/** `null`: it waits for none. */
export function childIn(input: string | null): ChildKey | null {
  const mark = markIn(input)
  if (mark === null) return null
  if ('child' in mark) return { workflowId: mark.child, isOwn: true }
  return 'existing' in mark ? { workflowId: mark.existing, isOwn: false } : null
}

export function markHeld(workflowId: string): string {
  return written({ heldBy: workflowId })
}

/** The workflow that kept a `child` node from starting its own; `null`: none did. */
export function heldBy(input: string | null): string | null {
  const mark = markIn(input)
  return mark !== null && 'heldBy' in mark ? mark.heldBy : null
}

export function markUndo(executionId: string, place: number | null = null): string {
  return written(place === null ? { undoes: executionId } : { undoes: executionId, place })
}

/** The execution that a compensation undoes. */
export function undoneBy(input: string | null): string {
  const mark = markIn(input)
  return mark !== null && 'undoes' in mark ? mark.undoes : ''
}

/** How far back a rollback had come with this compensation, as the number of an event; `null`: it is not known. */
export function undonePlace(input: string | null): number | null {
  const mark = markIn(input)
  return mark !== null && 'undoes' in mark ? (mark.place ?? null) : null
}

/** The call that had this input was lost. */
export function markReconcile(input: string | null): string {
  const given = givenIn(input)
  return written(given === null ? { reconcile: true } : { reconcile: true, given: JSON.parse(given) })
}

export function isReconciling(input: string | null): boolean {
  const mark = markIn(input)
  return mark !== null && 'reconcile' in mark
}
