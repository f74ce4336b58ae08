/**
 * What must be true of every workflow at every moment, whatever has happened to it. Pure: one workflow's rows in, what is
 * wrong with them out.
 */

import { endedIn } from '../engine/child-nodes.ts'
import { isEnd } from '../engine/end-watch.ts'
import { wakeSlotPrefix } from '../engine/plan.ts'
import { childOf } from '../engine/wind-down.ts'
import type { WorkflowFile } from '../store/event-store.ts'
import type { ActiveExecution, WorkflowRecord } from '../store/records.ts'
import { byHand, type Complaint } from './complaint.ts'

/** `others`: the workflows that rows of this one wait for, as far as they exist. */
export function checkAlwaysTrue(file: WorkflowFile, others: ReadonlyMap<string, WorkflowRecord>): Complaint[] {
  const { workflow } = file
  const rows = file.active.filter(row => row.kind !== 'timer')
  return [
    ...(isEnd(workflow.state) ? checkEnded(file, rows) : checkOpen(file, rows)),
    ...file.active.flatMap(row => checkRow(file, row)),
    ...rows.flatMap(row => checkWaiting(file, row, others)),
    ...checkLetters(file),
  ]
}

function checkEnded({ workflow, fanIns }: WorkflowFile, rows: readonly ActiveExecution[]): Complaint[] {
  // What could not be undone may be tried again after the end.
  const left = rows
    .filter(row => row.kind !== 'compensate')
    .map(row =>
      about(row, {
        problem: `The workflow is ${workflow.state}, but step ${row.node} has a row that is ${row.state}.`,
        remedy: 'Nobody waits for this row: delete it.',
      }),
    )
  if (fanIns.size === 0) return left
  const problem = `The workflow is ${workflow.state}, but counters are left: ${[...fanIns.keys()].join(', ')}.`
  return [...left, { kind: 'counter', problem, remedy: 'They do no harm: delete them.' }]
}

const goesOn: ReadonlySet<string> = new Set(['scheduled', 'in_progress', 'suspended', 'waiting'])

function checkOpen({ workflow, letters }: WorkflowFile, rows: readonly ActiveExecution[]): Complaint[] {
  const { state } = workflow
  const isHeld = state === 'paused' || state === 'dlq'
  // The row of an open dead letter stays held while the rest goes on.
  const mayBeHeld = letters.length > 0
  const wrong = rows.filter(row =>
    isHeld ? row.state === 'scheduled' || row.state === 'suspended' : row.state === 'paused' && !mayBeHeld,
  )
  const complaints = wrong.map(row =>
    about(row, {
      problem: `The workflow is ${state}, but step ${row.node} is ${row.state}.`,
      remedy: isHeld ? 'Resume the workflow, or pause it again after that.' : 'Pause the workflow, then resume it.',
    }),
  )
  if ((state === 'ready' || state === 'rolling_back') && !rows.some(row => goesOn.has(row.state))) {
    complaints.push({
      kind: 'rule',
      problem: `The workflow is ${state}, but has no row that could go on: it stands still for ever.`,
      remedy: 'Cancel it and start it anew, or `rerun` it from where it stands. Then please report it.',
    })
  }
  return complaints
}

function checkRow({ claimable, orphaned }: WorkflowFile, row: ActiveExecution): Complaint[] {
  const isIdle = row.state === 'scheduled' || row.state === 'suspended'
  if (isIdle !== claimable.has(row.id)) {
    const problem = `Step ${row.node} is ${row.state}, but a claim would ${isIdle ? 'never find' : 'take'} it.`
    return [about(row, { problem, remedy: 'Pause the workflow, then resume it: that writes the row anew.' })]
  }
  if ((row.state === 'in_progress') !== (row.owner !== null)) {
    const problem = `Step ${row.node} is ${row.state}, and ${row.owner === null ? 'has no owner' : `belongs to worker ${row.owner}`}.`
    return [about(row, { problem, remedy: byHand })]
  }
  if (!orphaned.has(row.id)) return []
  const problem = `Step ${row.node} is in progress, but its worker ${row.owner} does not exist: nobody will take it over.`
  return [about(row, { problem, remedy: 'Cancel the workflow; after 30 seconds the step is given up.' })]
}

function checkLetters({ workflow, letters }: WorkflowFile): Complaint[] {
  const { state, openLetters } = workflow
  const complaints: Complaint[] = []
  if (openLetters !== letters.length) {
    const problem = `It is stored with ${openLetters} open dead letters, but has ${letters.length}.`
    complaints.push({ kind: 'letter', problem, remedy: byHand })
  }
  if (state === 'dlq' && letters.length === 0) {
    const problem = 'The workflow is in the dlq, but no dead letter is open: nobody can requeue it.'
    complaints.push({ kind: 'letter', problem, remedy: 'Skip or resolve a step that has failed, or cancel it.' })
  }
  for (const { node, executionId } of isEnd(state) ? letters.filter(letter => letter.kind !== 'compensate') : []) {
    const problem = `The workflow is ${state}, but the dead letter of step ${node} is open.`
    complaints.push({
      kind: 'letter',
      problem,
      node,
      executionId,
      remedy: 'Nothing waits for it: set it to discarded by hand. Then please report it.',
    })
  }
  return complaints
}

/** Whoever ends wakes those who wait, by a timer among their rows. */
function checkWaiting(
  { active }: WorkflowFile,
  row: ActiveExecution,
  others: ReadonlyMap<string, WorkflowRecord>,
): Complaint[] {
  const child = awaitedBy(row)
  if (child === null || active.some(timer => wakesFor(timer) === child)) return []
  const other = others.get(child)
  // One that goes on as another is waited for under the id that it had.
  if (other !== undefined && (!isEnd(other.state) || other.continuedAs !== null)) return []
  const problem = `Step ${row.node} waits for workflow ${child}, which ${other === undefined ? 'does not exist' : `is ${other.state}`}.`
  return [about(row, { problem, remedy: `Resolve or skip step ${row.node}.` })]
}

/** The workflow whose end a timer tells of, by the id under which it is waited for. */
function wakesFor(timer: ActiveExecution): string | null {
  return timer.slot.startsWith(wakeSlotPrefix) ? endedIn(timer).knownAs : null
}

/** The workflow that a row waits for. */
export function awaitedBy(row: ActiveExecution): string | null {
  return childOf(row)?.workflowId ?? null
}

function about(row: ActiveExecution, said: Pick<Complaint, 'problem' | 'remedy'>): Complaint {
  return { kind: 'rule', executionId: row.id, node: row.node, ...said }
}
