/**
 * What becomes of a workflow when a person decides, or when a signal comes. Under the lock of the workflow, so of two people
 * who decide at once one comes second and sees the other. Pure; what cannot be taken throws, and nothing changes.
 */
import { AlreadyDecidedError, InvalidStateError } from '../errors.ts'
import type { LatestEnding, NewDecision } from '../store/change.ts'
import type { ChangeDraft, LiveRow } from './change-draft.ts'
import { closeStepLetters, goOnFromOvertaken } from './dead-letters.ts'
import { decidedOutput } from './decided-output.ts'
import { goBack } from './go-back.ts'
import { latestUnder } from './parents.ts'
import { currentName, nameBeside, type Plan } from './plan.ts'
import { rollbackOf } from './rollback.ts'
import { cameIn } from './stored-input.ts'
import { endWait, signalsFor } from './waits.ts'
import { abortWorkflow, pauseIfStuck, rollBack } from './wind-down.ts'

export type GivenDecision = Omit<NewDecision, 'id' | 'executionId' | 'node'> & {
  /** The execution that is meant; without it, the one that waits. */
  readonly on?: string
}

/** `node` by its id. One decision per person; one reject rejects; so many confirmations as the quorum says confirm. */
export function decideDecision(draft: ChangeDraft, plan: Plan, node: string, { on, ...given }: GivenDecision): void {
  const row = waitingRow(draft, plan, node, 'decide on')
  // Somebody has sent the workflow back since: what was decided on is not what waits now.
  if (on !== undefined && on !== row.id) {
    throw new AlreadyDecidedError(
      draft.workflowId,
      `Execution ${on} of step ${plan.graph.nameOf(node)} has been decided already.`,
    )
  }
  const known = plan.graph.find(currentName(plan, node))
  if (known?.kind !== 'human')
    throw refusal(draft, 'decide on', `Step ${plan.graph.nameOf(node)} does not wait for people.`)
  const earlier = draft.facts.decisions.filter(decision => decision.executionId === row.id)
  if (earlier.some(({ by }) => by === given.by)) {
    throw new AlreadyDecidedError(
      draft.workflowId,
      `${given.by} has decided on step ${plan.graph.nameOf(node)} already. A decision stands.`,
    )
  }
  draft.messages.decisions.push({ id: plan.takeId(), executionId: row.id, node: row.node, ...given })
  draft.note(`decision.${given.decision}`, {
    node: row.node,
    nodeName: row.nodeName,
    executionId: row.id,
    attempt: row.attempt,
    by: given.by,
    reason: given.comment,
  })
  if (given.decision === 'rejected') {
    reject(draft, plan, row, given)
    goOnFromOvertaken(draft, plan)
    return
  }
  const confirmed = 1 + earlier.filter(({ decision }) => decision === 'confirmed').length
  if (confirmed < (known.human?.quorum ?? 1)) return
  endWait(draft, plan, row, { came: 'decision', on: row.id, output: decidedOutput([...earlier, given]) })
  goOnFromOvertaken(draft, plan)
}

function reject(draft: ChangeDraft, plan: Plan, row: LiveRow, { by, comment }: GivenDecision): void {
  const request = { by, reason: comment ?? `step ${row.nodeName ?? row.node} was rejected` }
  const { onReject = 'abort' } = plan.graph.find(currentName(plan, row.node))?.human ?? {}
  draft.end(row, 'canceled', 'rejected', { ...request })
  if (onReject === 'abort') {
    closeStepLetters(draft, request)
    abortWorkflow(draft, request, plan)
  } else if (onReject === 'rollback') {
    closeStepLetters(draft, request)
    rollBack(draft, plan, rollbackOf('failure', request.reason, by))
  } else {
    goBack(draft, plan, { from: row.node, to: onReject.backTo, request })
  }
}

export interface GivenSignal {
  readonly payload: string | null
  readonly by: string | null
  readonly key: string | null
  /** Why it was sent, for the record. */
  readonly reason?: string | null
}

/** A node that waits goes on with it; one that does not yet will find it. */
export function decideSignal(draft: ChangeDraft, plan: Plan, node: string, given: GivenSignal): void {
  const name = currentName(plan, node)
  const known = plan.graph.find(name)
  if (known?.kind !== 'signal') {
    const names = plan.graph.nodes.filter(({ kind }) => kind === 'signal').map(each => each.name)
    const remedy = names.length === 0 ? 'It waits for none.' : `It waits for: ${names.join(', ')}.`
    throw refusal(draft, `signal ${node} to`, `There is no step that waits for it. ${remedy}`)
  }
  const what = `signal ${known.name} to`
  // Sent again, perhaps because the answer to the first was lost: whatever has come of that, it was accepted.
  if (given.key !== null && signalsFor(draft, plan, name).some(signal => signal.key === given.key)) return
  refuseUnlessOpen(draft, what)
  const row = draft.rows().find(candidate => currentName(plan, candidate.node) === name)
  if (row === undefined && latestUnder(draft, plan, name) !== null) {
    throw refusal(draft, what, `Step ${known.name} has ended, and waits for nothing any more.`)
  }
  const id = plan.takeId()
  const takes = row?.state === 'waiting'
  const { reason = null, ...message } = given
  draft.messages.signals.push({ id, node: name, ...message, takenBy: takes ? row.id : null })
  const { by } = given
  draft.note('signal.received', {
    node: name,
    nodeName: nameBeside(known),
    by,
    reason,
    ...(row === undefined ? {} : { executionId: row.id }),
  })
  if (takes) endWait(draft, plan, row, { came: 'signal', id, output: given.payload })
  goOnFromOvertaken(draft, plan)
  pauseIfStuck(draft)
}

function waitingRow(draft: ChangeDraft, plan: Plan, node: string, verb: string): LiveRow {
  const name = currentName(plan, node)
  const step = plan.graph.nameOf(name)
  const row = draft.rows().find(candidate => currentName(plan, candidate.node) === name)
  const latest = latestUnder(draft, plan, name)
  // Before anything else: who comes second is to hear of the first, also if that has ended the workflow.
  if (row?.state !== 'waiting' && isDecided(latest, row)) {
    throw new AlreadyDecidedError(draft.workflowId, `Step ${step} has been decided already.`)
  }
  refuseUnlessOpen(draft, `${verb} step ${step} of`)
  if (row?.state === 'waiting') return row
  if (isOverdue(latest, row)) {
    throw refusal(draft, `${verb} step ${step} of`, 'The time to decide is over, and nobody had decided until then.')
  }
  if (latest !== null) {
    throw new AlreadyDecidedError(draft.workflowId, `Step ${step} has ended already.`)
  }
  throw refusal(draft, `${verb} step ${step} of`, `The step does not wait yet${row ? ` (${row.state})` : ''}.`)
}

/** By people: not by who canceled the workflow, nor by a deadline that nobody has met. */
function isDecided(latest: LatestEnding | null, row: LiveRow | undefined): boolean {
  if (cameIn(row?.input ?? null)?.came === 'decision') return true
  if (latest?.outcome === 'confirmed' || latest?.outcome === 'rejected') return true
  return cameIn(latest?.input ?? null)?.came === 'decision'
}

/** What became of the last wait of a step that does not wait now. */
function isOverdue(latest: LatestEnding | null, row: LiveRow | undefined): boolean {
  if (row !== undefined) return cameIn(row.input)?.came === 'nothing'
  return cameIn(latest?.input ?? null)?.came === 'nothing'
}

function refuseUnlessOpen(draft: ChangeDraft, what: string): void {
  if ((draft.state === 'ready' || draft.isHeld) && !draft.workflow.finishing) return
  throw refusal(draft, what, 'It is ending or has ended.')
}

function refusal(draft: ChangeDraft, what: string, remedy: string): InvalidStateError {
  return new InvalidStateError(draft.workflowId, draft.state, what, remedy)
}
