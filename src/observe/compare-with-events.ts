/**
 * Compares what is stored about a workflow with what its events say: its state, its rows, its history, their attempts. Pure.
 */

import { keptAttempts } from '../engine/plan.ts'
import type { WorkflowFile } from '../store/event-store.ts'
import type { ActiveExecution, EndedExecution } from '../store/records.ts'
import { byHand, type Complaint, remedyFor } from './complaint.ts'
import { type FoldedExecution, foldEvents, isEndedState } from './fold-events.ts'

export function compareWithEvents(file: WorkflowFile): Complaint[] {
  const { workflow, active, history, events } = file
  if (events.length === 0) {
    return [{ kind: 'events', problem: 'It has no events.', remedy: byHand }]
  }
  const folded = foldEvents(events)
  const complaints: Complaint[] = folded.flaws.map(({ executionId, node, problem }) => ({
    kind: 'events',
    problem,
    executionId,
    node,
    remedy: byHand,
  }))
  if (folded.state !== workflow.state) {
    const problem = `It is stored as ${workflow.state}, but its events lead to ${folded.state ?? 'no state'}.`
    complaints.push({ kind: 'state', problem, remedy: remedyFor(workflow.state, folded.state) })
  }
  for (const row of active) complaints.push(...compareRow(row, folded.executions.get(row.id)))
  for (const row of history) complaints.push(...compareEnded(row, folded.executions.get(row.id)))
  complaints.push(...findMissing(file, folded.executions.values()), ...compareLetters(file, folded.letters))
  return complaints
}

function compareRow(row: ActiveExecution, said: FoldedExecution | undefined): Complaint[] {
  const what = `Step ${row.node} attempt ${row.attempt} has a row that is ${row.state}`
  if (said === undefined) return [complain(row, `${what}, but no event tells of it.`)]
  if (said.state !== row.state) return [complain(row, `${what}, but its events lead to ${said.state}.`)]
  return comparePlace(row, said)
}

function compareEnded(row: EndedExecution, said: FoldedExecution | undefined): Complaint[] {
  const what = `Step ${row.node} attempt ${row.attempt} stands in history as ${row.state}, ${row.outcome}`
  if (said === undefined) return [complain(row, `${what}, but no event tells of it.`)]
  if (said.state !== row.state) return [complain(row, `${what}, but its events lead to ${said.state}.`)]
  if (said.outcome !== row.outcome) return [complain(row, `${what}, but its events say ${said.outcome}.`)]
  return comparePlace(row, said)
}

function comparePlace(row: ActiveExecution | EndedExecution, said: FoldedExecution): Complaint[] {
  if (said.node === row.node && said.attempt === row.attempt) return []
  return [
    complain(
      row,
      `Execution ${row.id} is attempt ${row.attempt} at ${row.node}, but its events tell of attempt ${said.attempt} at ${said.node}.`,
    ),
  ]
}

function complain(row: ActiveExecution | EndedExecution, problem: string): Complaint {
  return { kind: 'execution', problem, executionId: row.id, node: row.node, remedy: byHand }
}

function compareLetters({ letters }: WorkflowFile, said: ReadonlySet<string>): Complaint[] {
  const open = new Map(letters.map(letter => [letter.executionId, letter.node]))
  return [...new Set([...open.keys(), ...said])].flatMap(executionId => {
    if (open.has(executionId) === said.has(executionId)) return []
    const node = open.get(executionId) ?? null
    const what = open.has(executionId) ? 'open, but its events do not say so' : 'open by its events, but not stored so'
    return [{ kind: 'letter', problem: `A dead letter is ${what}.`, executionId, node, remedy: byHand }]
  })
}

/** Of a step that repeats itself the last attempts are kept. */
function findMissing({ active, history }: WorkflowFile, said: Iterable<FoldedExecution>): Complaint[] {
  const known = new Set([...active, ...history].map(row => row.id))
  const latest = new Map<string, number>()
  for (const { node, attempt } of [...active, ...history]) latest.set(node, Math.max(latest.get(node) ?? 0, attempt))
  return [...said].flatMap(({ id, node, attempt, state }) => {
    const wasPruned = isEndedState(state) && attempt <= (latest.get(node) ?? 0) - keptAttempts
    if (known.has(id) || wasPruned) return []
    const where = isEndedState(state) ? 'is missing from history' : 'has no row'
    const problem = `Step ${node} attempt ${attempt} is ${state} by its events, but ${where}.`
    return [{ kind: 'execution', problem, executionId: id, node, remedy: byHand }]
  })
}
