/**
 * Work that was given up, and what people do about it: while a letter is open the workflow stands still, running siblings
 * record their results, and the next attempt waits, held, for whoever requeues it. Pure changes to a draft.
 */
import { InvalidStateError } from '../errors.ts'
import type { NewLetter } from '../store/change.ts'
import type { ChangeDraft, LiveRow, Request } from './change-draft.ts'
import { FreePlaces } from './each-items.ts'
import { endIfOver } from './end-if-over.ts'
import { failedNodes } from './failed-nodes.ts'
import { heal, mustHeal } from './heal.ts'
import { isSelective } from './joins.ts'
import { currentName, type Plan } from './plan.ts'
import { requeueCompensation } from './requeue-compensation.ts'
import { rollbackOf } from './rollback.ts'
import { giving } from './stored-input.ts'
import { blockerAmong } from './waiting-policy.ts'
import { abortWorkflow, cancelWorkflow, letGoDeadline, pauseIfStuck, rollBack } from './wind-down.ts'

export interface Requeue {
  readonly letterId: string
  readonly request: Request
  /** Encoded: what the execution works on from now on; `null` leaves it as it is. */
  readonly input: string | null
}

/** The work of a letter goes on, and everything else that was held with it. What a person has paused stays held. */
export function decideRequeue(draft: ChangeDraft, { letterId, request, input }: Requeue, plan: Plan): void {
  const letter = openLetter(draft, letterId, 'requeue')
  if (letter.kind === 'compensate') {
    requeueCompensation(draft, letter, request, plan)
    return
  }
  const name = currentName(plan, letter.node)
  const row = draft.rows().find(each => each.state === 'paused' && currentName(plan, each.node) === name)
  if (input !== null && row) draft.giveInput(row, giving(row.input, input))
  draft.closeLetter(letter, 'requeued', request)
  // What has waited for a join that is lost now acts first: else it would be forgotten.
  if (mustHeal(draft, plan)) heal(draft, plan)
  goOnFromLetters(draft, plan, request)
  endIfOver(draft, plan, request)
}

/** Lets go what no open letter holds. The workflow comes back here when nothing goes on and another letter is open. */
export function goOnFromLetters(draft: ChangeDraft, plan: Plan, request: Request): void {
  if (draft.state !== 'ready' && !draft.isHeld) return
  const { pauseCause } = draft.workflow
  // Another node may have failed that has no letter: it keeps the workflow from its end.
  draft.setWorkflow({ blockedBy: draft.letters()[0]?.node ?? blockerAmong(failedNodes(draft, plan)) })
  if (draft.state === 'dlq') draft.moveWorkflow(pauseCause === null ? 'ready' : 'paused', request, pauseCause)
  if (draft.state === 'ready') letGo(draft, plan)
}

/**
 * To be called behind whatever may decide a join: where it has closed the last letter, because it did without what was given up, the
 * workflow goes on. Another letter keeps it.
 */
export function goOnFromOvertaken(draft: ChangeDraft, plan: Plan): void {
  forgetOvertaken(draft, plan)
  const { finishing, openLetters } = draft.workflow
  const before = draft.facts.workflow.openLetters
  if (openLetters >= before || finishing || (draft.state === 'dlq' && openLetters > 0)) return
  const request = { by: null, reason: 'a join has gone on without the step that was given up' }
  goOnFromLetters(draft, plan, request)
  endIfOver(draft, plan, request)
  pauseIfStuck(draft)
}

/** A call whose outcome is unknown has no letter, but is in the way as well, until a join goes on without it. */
function forgetOvertaken(draft: ChangeDraft, plan: Plan): void {
  const { blockedBy } = draft.workflow
  if (blockedBy === null || !isSelective(plan.graph) || draft.letters().length > 0) return
  const failed = failedNodes(draft, plan)
  if (failed.every(({ node }) => currentName(plan, node) !== currentName(plan, blockedBy)))
    draft.setWorkflow({ blockedBy: blockerAmong(failed) })
}

/**
 * What was held goes on, but for what its own letter keeps. An item whose place another has got waits for one; one that is not due yet
 * keeps its place, and its time.
 */
export function letGo(draft: ChangeDraft, plan: Plan): void {
  letGoDeadline(draft)
  const lettered = new Set(draft.letters().map(letter => currentName(plan, letter.node)))
  const { now = Number.POSITIVE_INFINITY } = draft.facts
  const isLater = ({ dueAt }: LiveRow) => (dueAt ?? 0) > now
  const isBusy = (row: LiveRow) => row.state !== 'waiting' && (row.state !== 'paused' || isLater(row))
  const places = new FreePlaces(draft, plan, isBusy)
  for (const row of draft.rows()) {
    if (row.state !== 'paused' || lettered.has(currentName(plan, row.node))) continue
    const { state = row.heldFrom === 'suspended' ? 'suspended' : 'scheduled' } = isLater(row)
      ? {}
      : places.take(row.node)
    draft.move(row, state)
  }
}

/** What becomes of the workflow when a letter is given up for good. */
export type AfterDiscard = 'cancel' | 'skip' | 'rollback' | 'abort'

export function discardLetter(draft: ChangeDraft, letterId: string, request: Request): void {
  draft.closeLetter(openLetter(draft, letterId, 'discard'), 'discarded', request)
}

/** With the end of a workflow none of its steps is left to be handled. What could not be undone is. */
export function closeStepLetters(draft: ChangeDraft, request: Request): void {
  const forward = draft.letters().filter(letter => letter.kind === 'forward')
  for (const letter of forward) draft.closeLetter(letter, 'discarded', request)
}

/** The workflow ends with a letter that was given up. */
export function endFromLetters(draft: ChangeDraft, how: AfterDiscard, request: Request, plan: Plan): void {
  closeStepLetters(draft, request)
  if (how === 'abort') abortWorkflow(draft, request, plan)
  else rollBack(draft, plan, rollbackOf(how === 'rollback' ? 'failure' : 'cancel', request.reason, request.by))
}

export function cancelFromLetters(draft: ChangeDraft, request: Request, plan: Plan): void {
  closeStepLetters(draft, request)
  cancelWorkflow(draft, request, plan)
}

/** Refuses a letter that was handled already. */
export function openLetter(draft: ChangeDraft, id: string, verb: string): NewLetter {
  const { workflow } = draft.facts
  const found = draft.letters().find(letter => letter.id === id)
  if (found && (draft.state === 'ready' || draft.isHeld || found.kind === 'compensate')) return found
  const remedy = found ? 'It is ending or has ended.' : `Its dead letter ${id} has been handled already.`
  throw new InvalidStateError(workflow.id, workflow.state, `${verb} a dead letter of`, remedy)
}
