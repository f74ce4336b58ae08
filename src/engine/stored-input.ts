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
  /** A `child` node: the workflow that it has started, and whether that is known to have finished; or the one that was there already. */
  | { readonly child: string; readonly finished?: true }
  | { readonly existing: string }
  /** A `child` node: the workflow that held the place of the one that it was to start. */
  | { readonly heldBy: string }
  /** A compensation: the execution that it undoes, and the event from which on nothing else is left to be undone. */
  | { readonly undoes: string; readonly place?: number }
  /** A call was lost, and its own code is asked first whether it happened. What it was given is kept beside it. */
  | { readonly reconcile: true; readonly given?: unknown }
  /** Nothing but what it was given, if anything: it is a mark for what stands beside it. */
  | { readonly given?: unknown }

interface Marked {
  readonly [tagKey]?: unknown
  readonly value: Mark
  /** The name that its node had when it was first called, if that is another one now. */
  readonly was?: string
}

const markTag = 'mark'

function written(mark: Mark, was: string | null = null): string {
  return JSON.stringify({ [tagKey]: markTag, value: mark, ...(was === null ? {} : { was }) })
}

function markedIn(input: string | null): Marked | null {
  // Few rows have an input at all, and few of those a mark.
  if (input === null || !input.includes(tagKey)) return null
  const parsed = JSON.parse(input) as Marked | null
  return typeof parsed === 'object' && parsed?.[tagKey] === markTag ? parsed : null
}

function markIn(input: string | null): Mark | null {
  return markedIn(input)?.value ?? null
}

/** Encoded: what somebody gave the execution to work on. `null`: nobody has given it anything. */
export function givenIn(input: string | null): string | null {
  const mark = markIn(input)
  if (mark === null) return input
  return 'given' in mark ? JSON.stringify(mark.given) : null
}

/** Somebody gives the execution something else. Whether a lost call happened is asked all the same. */
export function giving(input: string | null, given: string): string {
  const next = isReconciling(input) ? markReconcile(given) : given
  return keepName(next, firstNameIn(input)) ?? next
}

/**
 * The name that the node had when the first attempt of the round came to be, which all of them share an idempotency key by; `null`:
 * the one that it has now.
 */
export function firstNameIn(input: string | null): string | null {
  return markedIn(input)?.was ?? null
}

/** The node has another name from here on. What it was first called by is kept, whatever else it is called later. */
export function keepName(input: string | null, was: string | null): string | null {
  if (was === null || firstNameIn(input) !== null) return input
  return written(markIn(input) ?? (input === null ? {} : { given: JSON.parse(input) }), was)
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

/** The workflow that the node has started has finished. If it was continued, this one has come last. */
export function markFinished(input: string | null, workflowId: string): string {
  return written({ child: workflowId, finished: true }, firstNameIn(input))
}

/** Whether what the node was to start is done, so that it is not started again, and may have to be undone. */
export function hasFinishedChild(input: string | null): boolean {
  const mark = markIn(input)
  return mark !== null && 'child' in mark && mark.finished === true
}

export function markHeld(workflowId: string): string {
  return written({ heldBy: workflowId })
}

/** The workflow that kept a `child` node from starting its own; `null`: none did. */
export function heldBy(input: string | null): string | null {
  const mark = markIn(input)
  return mark !== null && 'heldBy' in mark ? mark.heldBy : null
}

/** Something has ended its wait, or it waits for a child, or could not start one: it was reached before. */
export function hasWaited(input: string | null): boolean {
  return cameIn(input) !== null || childIn(input) !== null || heldBy(input) !== null
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
  const mark = given === null ? { reconcile: true as const } : { reconcile: true as const, given: JSON.parse(given) }
  return written(mark, firstNameIn(input))
}

export function isReconciling(input: string | null): boolean {
  const mark = markIn(input)
  return mark !== null && 'reconcile' in mark
}
