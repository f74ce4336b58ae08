/**
 * What becomes of a workflow when someone outside asks: pause, resume, cancel, skip, resolve, reattempt. Pure; a request
 * that the state does not allow throws, and nothing changes.
 */
import { InvalidArgumentError, InvalidStateError } from '../errors.ts'
import type { LatestEnding, WorkflowFacts } from '../store/change.ts'
import type { Rollback } from '../store/records.ts'
import { ancestryOf } from './ancestry.ts'
import type { ChangeDraft, EndingDetails, LiveRow, Request } from './change-draft.ts'
import { cancelFromLetters, closeStepLetters, goOnFromLetters, goOnFromOvertaken, letGo } from './dead-letters.ts'
import { meetDeadline } from './deadlines.ts'
import { FreePlaces, itemsIn, satisfyItem } from './each-items.ts'
import { endIfOver } from './end-if-over.ts'
import { isEnd } from './end-watch.ts'
import { pauseFacts } from './event-names.ts'
import { failedNodes, openFailure } from './failed-nodes.ts'
import { heal, mustHeal } from './heal.ts'
import { isSelective } from './joins.ts'
import { actOnLostJoins } from './lost-joins.ts'
import { latestUnder, parentsOf } from './parents.ts'
import { currentName, nameBeside, ownerOf, type Plan } from './plan.ts'
import { arrive, passReadyJoins, repeat } from './schedule.ts'
import { askingFirst } from './unknown-outcome.ts'
import { blockerAmong } from './waiting-policy.ts'
import { abortWorkflow, finishWorkflow, holdRows, pauseIfStuck, stopChild } from './wind-down.ts'

/** At once, also while a step runs: that step records its result, and nothing new starts. */
export function decidePause(draft: ChangeDraft, request: Request): void {
  const { state } = draft
  if (state === 'paused') {
    takeOverPause(draft, request)
    return
  }
  if (state !== 'ready')
    throw refusal(draft.facts, 'pause', 'Only a workflow that is ready or performing can be paused.')
  if (draft.workflow.finishing)
    throw refusal(draft.facts, 'pause', 'It is finishing: nothing new begins, and what still runs is waited for.')
  holdRows(draft)
  draft.moveWorkflow('paused', request, 'request')
}

/** What a failure or a step has paused is the person's from now on: it does not go on by itself once all that failed is settled. */
function takeOverPause(draft: ChangeDraft, { by, reason }: Request): void {
  const { pauseCause } = draft.workflow
  if (pauseCause !== 'exception' && pauseCause !== 'flow_control') return
  draft.setWorkflow({ pauseCause: 'request' })
  draft.note('workflow.paused', { from: 'paused', to: 'paused', by, reason, payload: pauseFacts('request') })
}

/** Held rows go on with their own due time; after an exception the failed steps get a new attempt. */
export function decideResume(draft: ChangeDraft, request: Request, plan: Plan): void {
  if (draft.state === 'dlq')
    throw refusal(draft.facts, 'resume', 'Requeue its dead letter, or skip or resolve the step that was given up.')
  if (draft.state !== 'paused') throw refusal(draft.facts, 'resume', 'Only a paused workflow can be resumed.')
  if (draft.workflow.pauseCause === 'finishing') {
    // A step had declared it finished while it was held.
    closeStepLetters(draft, request)
    draft.moveWorkflow('ready', request)
    finishWorkflow(draft, plan)
    return
  }
  if (mustHeal(draft, plan)) heal(draft, plan)
  // What has waited for a join that is lost now has acted, and nothing is left to be resumed.
  if (draft.state !== 'paused') return
  draft.moveWorkflow('ready', request)
  if (meetDeadline(draft, request, plan)) return
  draft.setWorkflow({ blockedBy: draft.letters()[0]?.node ?? null })
  letGo(draft, plan)
  const places = new FreePlaces(draft, plan)
  for (const failed of failedNodes(draft, plan)) tryAgain(draft, plan, failed, places)
  // A join that has all it needs is behind nobody's step.
  if (isSelective(plan.graph)) passReadyJoins(draft, plan, null)
  endIfOver(draft, plan, request)
  pauseIfStuck(draft)
}

/** With fresh counters, and at once if it has a place. A call that may have happened is asked about first. */
function tryAgain(draft: ChangeDraft, plan: Plan, failed: LatestEnding, places: FreePlaces): void {
  const asking = failed.outcome === 'unknown' ? askingFirst(plan, failed) : null
  repeat(draft, plan, failed, { due: { inMs: 0 }, failures: 0, crashes: 0, ...asking, ...places.take(failed.node) })
}

/** At once when nothing runs. A running step is told to stop, and the workflow ends when it has. */
export function decideCancel(draft: ChangeDraft, request: Request, plan: Plan): void {
  const { state, workflow } = draft
  if (state === 'rolling_back') {
    cancelRollback(draft, workflow.rollback, request)
    return
  }
  if (state !== 'ready' && !draft.isHeld) throw refusal(draft.facts, 'cancel', 'It has ended.')
  cancelFromLetters(draft, request, plan)
}

/** The rollback of a failure goes on to the start. A second cancel does nothing. */
function cancelRollback(draft: ChangeDraft, rollback: Rollback | null, { by, reason }: Request): void {
  if (rollback?.kind !== 'failure') return
  draft.setWorkflow({ rollback: { ...rollback, kind: 'cancel', by, message: reason ?? rollback.message } })
  draft.note('workflow.cancel_requested', { by, reason })
}

/** At once, whatever runs: nothing is undone, and nothing is waited for. */
export function decideAbort(draft: ChangeDraft, request: Request, plan: Plan): void {
  if (isEnd(draft.state)) throw refusal(draft.facts, 'abort', 'It has ended.')
  closeStepLetters(draft, request)
  abortWorkflow(draft, request, plan)
}

/** Leaves out a step that waits, or one that failed; the workflow goes on behind it. */
export function decideSkip(draft: ChangeDraft, node: string, request: Request, plan: Plan): void {
  settleByHand(draft, plan, { node, request, verb: 'skip', state: 'skipped', outcome: 'skipped_by_flow_control' })
}

export interface Resolution {
  readonly node: string
  readonly request: Request
  /** Encoded: what the step would have returned. */
  readonly output: string | null
}

/** Somebody has done by hand what the step was to do; the workflow goes on behind it. */
export function decideResolve(draft: ChangeDraft, { node, request, output }: Resolution, plan: Plan): void {
  settleByHand(draft, plan, { node, request, verb: 'resolve', state: 'completed', outcome: 'resolved', output })
}

interface ByHand {
  readonly node: string
  readonly request: Request
  readonly verb: 'skip' | 'resolve'
  readonly state: 'skipped' | 'completed'
  readonly outcome: 'skipped_by_flow_control' | 'resolved'
  readonly output?: string | null
}

function settleByHand(draft: ChangeDraft, plan: Plan, hand: ByHand): void {
  const what = `${hand.verb} step ${plan.graph.nameOf(hand.node)} of`
  refuseUnlessOpen(draft, what)
  const row = rowOf(draft, plan, hand.node)
  const failed = row === null ? failedNode(draft, plan, hand.node, hand.verb) : null
  const details = detailsOf(draft, plan, hand)
  const name = currentName(plan, hand.node)
  const running = [row, ...itemsIn(draft, plan, name)].find(part => part?.state === 'in_progress')
  if (running) {
    throw refusal(
      draft.facts,
      what,
      `${running === row ? 'The step' : `Item ${running.node}`} is running; wait for it, or cancel the workflow.`,
    )
  }
  leaveOutItems(draft, plan, name, hand.request)
  if (row) {
    stopChild(draft, row, hand.request, plan)
    draft.end(row, hand.state, hand.outcome, details)
  } else if (failed) draft.insertEnded(endedAgain(draft, plan, failed), hand.state, hand.outcome, details)
  const closes = closeLettersOf(draft, plan, name, hand)
  if (mustHeal(draft, plan)) heal(draft, plan)
  if (closes) goOnFromLetters(draft, plan, hand.request)
  // What has waited for a join that is lost now acts first: else the workflow would only be stuck.
  actOnLostJoins(draft, plan)
  if (isOpen(draft) && !isDeclaredFinished(draft)) {
    goOnIfFree(draft, plan, hand.request)
    goOnBehind(draft, plan, name, row?.fence ?? 0)
  }
  endOrStick(draft, plan, hand.request)
}

/** The branches of a condition go by its answer, so nobody can take it as done without one. Why it was given is told by the event. */
function detailsOf(draft: ChangeDraft, plan: Plan, { node, request, verb, output = null }: ByHand): EndingDetails {
  const known = plan.graph.find(currentName(plan, node))
  if (verb === 'skip' || known?.kind !== 'condition') return { ...request, output }
  if (output === 'true' || output === 'false')
    return { ...request, output, reason: output, eventReason: request.reason }
  throw new InvalidArgumentError(
    `${known.name} is a condition of workflow ${draft.workflowId}: resolve it with its answer as the output, \`true\` or \`false\`, or skip it, so that neither branch is taken.`,
  )
}

function isOpen({ state, isHeld }: ChangeDraft): boolean {
  return state === 'ready' || isHeld
}

function goOnBehind(draft: ChangeDraft, plan: Plan, node: string, fence: number): void {
  const each = plan.graph.eachOf(node)
  if (mustHeal(draft, plan)) heal(draft, plan)
  else if (each) satisfyItem(draft, plan, each, null)
  else arrive(draft, plan, { node, fence }, null)
}

/** With an `each` node its items are settled: nobody waits for them any more. None of them runs. */
function leaveOutItems(draft: ChangeDraft, plan: Plan, each: string, request: Request): void {
  const items = itemsIn(draft, plan, each)
  const failed = failedNodes(draft, plan).filter(({ node }) => ownerOf(currentName(plan, node)) === each)
  for (const item of items) draft.end(item, 'skipped', 'skipped_by_flow_control', { ...request })
  for (const item of failed) {
    draft.insertEnded(endedAgain(draft, plan, item), 'skipped', 'skipped_by_flow_control', { ...request })
  }
  draft.setOpenParents(each, 0)
}

/** A letter of the node is handled by that, and those of its items, which are left out. Tells whether there are any. */
function closeLettersOf(draft: ChangeDraft, plan: Plan, name: string, { request, verb }: ByHand): boolean {
  const own = lettersOf(draft, plan, name)
  const items = draft.letters().filter(letter => ownerOf(currentName(plan, letter.node)) === name)
  for (const letter of own) draft.closeLetter(letter, verb === 'skip' ? 'discarded' : 'resolved', request)
  for (const letter of items) draft.closeLetter(letter, 'discarded', request)
  return own.length + items.length > 0
}

function lettersOf(draft: ChangeDraft, plan: Plan, name: string) {
  return draft.letters().filter(letter => letter.kind === 'forward' && currentName(plan, letter.node) === name)
}

/** Nothing new is due: its end comes when nobody holds it any more. */
function isDeclaredFinished({ workflow }: ChangeDraft): boolean {
  return workflow.pauseCause === 'finishing'
}

/** A new attempt at a node that failed. Only the latest one, and only while nothing behind it has started. */
export function decideReattempt(draft: ChangeDraft, node: string, request: Request, plan: Plan): void {
  const what = `reattempt step ${plan.graph.nameOf(node)} of`
  refuseUnlessOpen(draft, what)
  const letters = lettersOf(draft, plan, currentName(plan, node))
  if (letters.length > 0) {
    for (const letter of letters) draft.closeLetter(letter, 'requeued', request)
    if (mustHeal(draft, plan)) heal(draft, plan)
    goOnFromLetters(draft, plan, request)
    endIfOver(draft, plan, request)
    return
  }
  const row = rowOf(draft, plan, node)
  if (row) throw refusal(draft.facts, what, `Its attempt ${row.attempt} has not ended (${row.state}).`)
  const failed = failedNode(draft, plan, node, 'reattempt')
  const started = [...plan.graph.descendantsOf(currentName(plan, node))].find(id => hasStarted(draft, plan, id))
  if (started !== undefined) {
    throw refusal(
      draft.facts,
      what,
      `Step ${plan.graph.nameOf(started)}, which comes after it, has started. Use \`rerun\` instead.`,
    )
  }
  // First: the new attempt may be the last that a join can go on with.
  tryAgain(draft, plan, failed, new FreePlaces(draft, plan))
  if (mustHeal(draft, plan)) heal(draft, plan)
  if (isOpen(draft)) goOnIfFree(draft, plan, request)
  goOnFromOvertaken(draft, plan)
}

/** What a person has paused stays paused; what an exception has paused goes on once nothing is left that has failed. */
function goOnIfFree(draft: ChangeDraft, plan: Plan, request: Request): void {
  const others = failedNodes(draft, plan)
  draft.setWorkflow({ blockedBy: blockerAmong(others) ?? draft.letters()[0]?.node ?? null })
  if (draft.state !== 'paused' || others.length > 0 || isKeptPaused(draft)) return
  draft.moveWorkflow('ready', request)
  letGo(draft, plan)
}

/** A person has paused it, or a resumable step, which is held itself and is not what was settled. */
function isKeptPaused(draft: ChangeDraft): boolean {
  const { pauseCause } = draft.workflow
  if (pauseCause === 'flow_control') return draft.rows().some(row => row.heldFrom === 'suspended')
  return pauseCause === 'request' || pauseCause === 'finishing'
}

function endOrStick(draft: ChangeDraft, plan: Plan, request: Request): void {
  const over = draft.rows().length === 0 && failedNodes(draft, plan).length === 0
  if (over && draft.isHeld && draft.letters().length === 0 && !draft.workflow.crooked)
    draft.moveWorkflow('finished', request)
  actOnLostJoins(draft, plan)
  goOnFromOvertaken(draft, plan)
  pauseIfStuck(draft)
}

function rowOf(draft: ChangeDraft, plan: Plan, node: string): LiveRow | null {
  const name = currentName(plan, node)
  return draft.rows().find(row => currentName(plan, row.node) === name) ?? null
}

function failedNode(draft: ChangeDraft, plan: Plan, node: string, verb: string): LatestEnding {
  const name = currentName(plan, node)
  const found = openFailure(draft, plan, name)
  if (found) return found
  const latest = latestUnder(draft, plan, name)
  const known = latest !== null || plan.graph.find(name) !== null
  const where = draft.rows().map(row => `${row.nodeName ?? row.node} (${row.state})`)
  throw refusal(
    draft.facts,
    `${verb} step ${plan.graph.nameOf(name)} of`,
    !known
      ? `There is no step of that name.`
      : `It is ${latest === null ? 'not due yet' : latest.state}${where.length > 0 ? `; the workflow stands at ${where.slice(0, 5).join(', ')}` : ''}.`,
  )
}

/** What was left out has seen nothing. */
function hasStarted(draft: ChangeDraft, plan: Plan, id: string): boolean {
  const row = rowOf(draft, plan, id)
  const latest = latestUnder(draft, plan, id)
  if (latest !== null && latest.outcome !== 'not_taken') return true
  return row !== null && row.state !== 'scheduled' && row.state !== 'paused'
}

/** The row of an attempt that is over as soon as it exists. */
function endedAgain(draft: ChangeDraft, plan: Plan, failed: LatestEnding) {
  const attempt = failed.attempt + 1
  const node = currentName(plan, failed.node)
  const known = plan.graph.find(node)
  const parents = known === null ? [] : parentsOf(draft, plan, known)
  return {
    ...failed,
    workflowId: draft.workflowId,
    id: plan.takeId(),
    node,
    nodeName: known === null ? null : nameBeside(known),
    kind: 'forward' as const,
    attempt,
    ordinal: failed.ordinal + 1,
    startedAt: null,
    owner: null,
    createdAt: null,
    dueAt: null,
    ancestry: ancestryOf(node, attempt, parents),
  }
}

function refuseUnlessOpen(draft: ChangeDraft, what: string): void {
  if ((draft.state === 'ready' || draft.isHeld) && !draft.workflow.finishing) return
  throw refusal(draft.facts, what, 'It is ending or has ended.')
}

function refusal(facts: WorkflowFacts, request: string, remedy: string): InvalidStateError {
  const { id, state } = facts.workflow
  const performing = state === 'ready' && facts.active.some(row => row.state === 'in_progress')
  return new InvalidStateError(id, performing ? 'performing' : state, request, remedy)
}
