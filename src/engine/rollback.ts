/**
 * Undoing a workflow: what has completed is compensated, newest first and one at a time, back to the last save point after
 * a failure, or to the start after a cancel. Every step of it is decided anew from what history says, so a crash in the
 * middle goes on where it stopped. Pure changes to a draft, which must show history.
 */
import type { GraphCompensation, GraphNode } from '../definition/graph.ts'
import { invariant } from '../primitives/invariant.ts'
import type { NewExecution, UndoFacts, UndoRow } from '../store/change.ts'
import { noProgress, type Rollback, type WorkflowRecord } from '../store/records.ts'
import { roundTeller } from '../store/rounds.ts'
import { ancestryOf } from './ancestry.ts'
import type { ChangeDraft } from './change-draft.ts'
import { wasOfItems } from './items-done.ts'
import { laneIn } from './lane-for.ts'
import { currentName, hasCode, nameBeside, type Plan, type RunOn } from './plan.ts'
import { hasFinishedChild, markUndo } from './stored-input.ts'

/** All compensations of a workflow stand here, so the key itself allows one at a time. No node can have this name. */
export const undoSlot = '#undo'

/** Why nobody reported on an attempt while its workflow was being stopped: its call may have happened. */
export const lateReason = 'it did not stop in time'
export const lostReason = (worker: string | null) => `worker ${worker} was lost`
export const givenBackReason = 'its worker was shut down in mid-call'
export const leftBehindReason = 'it was under way when the workflow went back'
const withoutReport: ReadonlySet<string | null> = new Set([lateReason, givenBackReason, leftBehindReason])
const isLost = (reason: string | null) => withoutReport.has(reason) || /^worker .* was lost$/.test(reason ?? '')

/** Decided by somebody else than the code of the step: its workflow was stopped, a join had no need of it, or a condition said no. */
const cutOff: ReadonlySet<string> = new Set(['stopped', 'superseded', 'canceled_by_condition', 'skipped_by_condition'])

/** It came to its end before anything can have happened. What its child has done is there, also if its own code was never called. */
function isUntouched({ state, outcome, reason, hasActed, startedAt, input = null }: UndoRow): boolean {
  if (!cutOff.has(outcome)) return startedAt === null
  // A rollback has moved on what stands in any other state, so that something of it had happened.
  if (state !== 'skipped' && state !== 'canceled') return false
  return !hasActed && !isLost(reason) && !hasFinishedChild(input)
}

/** Compensations that will not be tried again by themselves. */
const givenUp: ReadonlySet<string> = new Set(['compensation_failed', 'unknown', 'stopped'])

/** Told by the outcome, which stays while a rollback moves the state. */
const takenAsDone: ReadonlySet<string> = new Set(['success', 'confirmed', 'resolved'])

/** Nothing of the workflow runs any more: the next compensation begins, or the end is there. */
export function undoNext(draft: ChangeDraft, plan: Plan, runOn: RunOn | null = null): NewExecution | null {
  if (draft.rowIn(undoSlot) !== null) return null
  for (const row of rowsToUndo(draft, plan)) {
    const undone = nodeToUndo(plan, row)
    if (undone !== null) {
      // What is undone once more is out of turn, and tells nothing of how far the others have come.
      const place = row.state === 'compensating' ? null : (row.place ?? null)
      if (row.state !== 'compensating') draft.moveEnded(row, 'compensating')
      noteRequeued(draft, row)
      return insertCompensation(draft, plan, { row, ...undone, runOn, place, inMs: restOfGrace(draft, plan, row) })
    }
    draft.moveEnded(row, 'rolled_back')
  }
  const { undo, workflow } = draft.facts
  invariant(undo?.isWhole !== false, `Nobody has looked whether all of workflow ${workflow.id} is undone.`)
  endRollback(draft)
  return null
}

/** How long a workflow that is being ended waits for a running step to stop, where its class says nothing. */
const defaultGraceMs = 30_000

export function graceOf({ graph }: Pick<Plan, 'graph'>): number {
  return graph.data.stopGraceMs ?? defaultGraceMs
}

/** What was left behind has lost its claim without having been waited for: it is not undone while its call may well go on. */
function restOfGrace({ facts }: ChangeDraft, plan: Plan, { reason, endedAt }: UndoRow): number {
  if (reason !== leftBehindReason) return 0
  const graceMs = graceOf(plan)
  const { now } = facts
  if (typeof now !== 'number' || typeof endedAt !== 'number') return graceMs
  return Math.min(graceMs, Math.max(0, graceMs - (now - endedAt) / 1000))
}

/** Once none waits out of turn, the steps of the rollback need not look for one any more. */
function noteRequeued(draft: ChangeDraft, begun: UndoRow): void {
  const { rollback } = draft.workflow
  if (!rollback?.requeued || draft.undoRows().some(row => row.state === 'compensating' && row.id !== begun.id)) return
  draft.setWorkflow({ rollback: { ...rollback, requeued: false } })
}

function endRollback(draft: ChangeDraft): void {
  const { rollback } = draft.workflow
  draft.dropTimers()
  const canceled = rollback?.kind !== 'failure' && !rollback?.givenUp
  draft.moveWorkflow(canceled ? 'canceled' : 'failed', {
    by: rollback?.by ?? null,
    reason: rollback?.message ?? null,
  })
}

/** Newest first. A workflow without any compensation is no saga: what it has done stays done. */
export function rowsToUndo(draft: ChangeDraft, plan: Plan): RowInTurn[] {
  if (!plan.graph.isSaga && plan.former.length === 0) return []
  const facts = draft.undoFacts()
  if (!isSaga(plan, facts)) return []
  const again = facts.rows.filter(row => row.state === 'compensating')
  return [...again, ...rowsInTurn(facts, plan, draft.workflow)]
}

/** Its code can undo something of it, or could while the workflow went by it. Part of history is shown only where something was undone. */
function isSaga(plan: Plan, { rows, isWhole }: UndoFacts): boolean {
  if (plan.graph.isSaga || plan.previous?.isSaga || !isWhole) return true
  return rows.some(row => nodeAsRun(plan, row)?.compensation !== undefined)
}

/** What the steps of a graph are called and undone by. */
export type UndoPlan = Pick<Plan, 'graph' | 'former' | 'renamed'>

type UndoneWorkflow = Pick<WorkflowRecord, 'rollback' | 'rounds'>

/** One that is undone. `isRepeated`: it asked to be called again, and the call that followed stands for it. */
export type RowInTurn = UndoRow & { readonly isRepeated?: boolean }

/** Newest first. Those that are being undone, or were given up and are to be undone once more, are not among them. */
export function rowsInTurn(facts: UndoFacts, plan: UndoPlan, workflow: UndoneWorkflow): RowInTurn[] {
  const { rows } = facts
  // Attempts of a round share an idempotency key, so that its last call stands for all of them.
  const latest = new Map<string, number>()
  const roundOf = roundTeller(workflow.rounds, node => currentName(plan, node))
  // An attempt that has done nothing says nothing about what those before it have done, unless it was taken as done.
  const isDone = (row: UndoRow) => !isUntouched(row) || takenAsDone.has(row.outcome)
  const done = [...rows, ...facts.others].filter(isDone)
  for (const row of done) latest.set(roundOf(row), Math.max(row.attempt, latest.get(roundOf(row)) ?? 0))
  const tried = new Set(facts.tried.flatMap(undo => (givenUp.has(undo.outcome) ? undo.undoes : [])))
  const bound = workflow.rollback?.kind === 'cancel' ? -1 : rows.findIndex(row => isSavePoint(plan, row))
  const reached = bound === -1 ? rows : rows.slice(0, bound)
  const isLast = (row: UndoRow) => latest.get(roundOf(row)) === row.attempt
  return reached
    .filter(row => isUndone(row, isLast(row), workflow.rollback) && !tried.has(row.id))
    .map(row => (asksAgain(row) && !isLast(row) ? { ...row, isRepeated: true } : row))
}

/** Nobody knows how much of it had happened by then: a step that polls has begun something before. */
function asksAgain({ outcome }: UndoRow): boolean {
  return outcome === 'reattempted'
}

function isSavePoint(plan: UndoPlan, row: UndoRow): boolean {
  return row.state === 'completed' && plan.graph.find(currentName(plan, row.node))?.kind === 'savePoint'
}

/**
 * What has completed; of each round what has failed last, has paused the workflow, or was cut off when something of it may have
 * happened. A step that cancels the workflow itself knows what it has done.
 */
function isUndone(row: UndoRow, isLast: boolean, rollback: Rollback | null): boolean {
  const { id, state, outcome } = row
  if (state === 'completed') return true
  if (!isLast || isUntouched(row)) return false
  if (state === 'failed' || (state === 'skipped' && outcome === 'stopped')) return true
  const hasPaused = outcome === 'canceled_by_flow_control' && id !== rollback?.calledBy
  return state === 'canceled' && (cutOff.has(outcome) || hasPaused)
}

interface Undone {
  readonly node: GraphNode
  readonly compensation: GraphCompensation
}

/** `null`: there is nothing to call. The items of an `each` node are undone, each on its own, and not the node itself. */
export function nodeToUndo(plan: UndoPlan, row: RowInTurn): Undone | null {
  const node = nodeAsRun(plan, row)
  const compensation = node?.compensation
  if (node === null || compensation === undefined || row.isRepeated) return null
  const { state } = row
  const hasFailed =
    state === 'failed' || state === 'skipped' || state === 'canceled' || (state === 'completed' && asksAgain(row))
  return hasFailed && !compensation.afterFailure ? null : { node, compensation }
}

/** The node that has run: by the present code, unless that has lost it, or has made a step of items or items of a step. */
function nodeAsRun(plan: UndoPlan, row: UndoRow): GraphNode | null {
  if (wasOfItems(row)) return null
  const present = plan.graph.find(currentName(plan, row.node))
  return present === null || present.kind === 'each' ? formerNode(plan, row.node) : present
}

/** By the newest code that had it. It is claimed from where the class is, because its own queue may be gone with it. */
export function formerNode({ graph, former }: Pick<Plan, 'graph' | 'former'>, name: string): GraphNode | null {
  const { queue, priority } = graph.data
  for (const earlier of former) {
    const node = earlier.find(currentName(earlier, name))
    if (node !== null && node.kind !== 'each') return { ...node, queue, priority }
  }
  return null
}

/** Whether something is called to undo the node also where nobody knows how much of it has happened. */
export function isUndoneWhenCutOff(plan: UndoPlan, node: string): boolean {
  const known = plan.graph.find(currentName(plan, node)) ?? formerNode(plan, node)
  return known?.compensation?.afterFailure === true && known.kind !== 'each'
}

export interface NextCompensation extends Undone {
  readonly row: UndoRow
  readonly runOn: RunOn | null
  /** How far back the rollback comes with it, as the number of an event; `null`: the next step has to look at everything. */
  readonly place?: number | null
  readonly inMs?: number
  readonly failures?: number
  readonly crashes?: number
}

export function insertCompensation(draft: ChangeDraft, plan: Plan, next: NextCompensation): NewExecution {
  const { node, row, compensation, runOn, place = null, inMs = 0, failures = 0, crashes = 0 } = next
  const attempt =
    1 + draft.triedUndos().reduce((most, undo) => Math.max(most, undo.node === row.node ? undo.attempt : 0), 0)
  const isMethod = node.job === undefined && node.workflow === undefined && hasCode(plan.graph, node)
  const undoing = isMethod ? node : { ...node, job: compensation.name }
  const handler = plan.handlerOf(undoing)
  const mayRunOn = inMs === 0 && crashes === 0
  const owner = mayRunOn && runOn?.serves(node.queue, handler) ? runOn.workerId : null
  return draft.insert({
    slot: undoSlot,
    id: plan.takeId(),
    node: row.node,
    nodeName: nameBeside(node),
    kind: 'compensate',
    attempt,
    ordinal: row.ordinal + 1,
    state: owner === null ? 'scheduled' : 'in_progress',
    queue: node.queue,
    handler,
    lane: laneIn(draft.facts.workflow, undoing, node.queue),
    generation: plan.generation,
    priority: node.priority,
    due: { inMs },
    owner,
    fence: 1,
    failures,
    crashes,
    progress: owner === null ? noProgress : { ...noProgress, runs: 1 },
    input: markUndo(row.id, place),
    ancestry: ancestryOf(`${row.node}${undoSlot}`, attempt, [row]),
  })
}

/** What a rollback is told by, for the record. */
export function rollbackOf(kind: Rollback['kind'], message: string | null, by: string | null = null): Rollback {
  return { kind, message, by, givenUp: false }
}
