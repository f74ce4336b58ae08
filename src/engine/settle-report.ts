/** Says of a report whose claim does not hold any more whether it was recorded, and only the answer to that was lost. */
import type { EndedExecution, WorkflowChange, WorkflowFacts } from '../store/change.ts'
import type { ActiveExecution, Outcome } from '../store/records.ts'
import type { FinishRequest, FinishResult } from './finish-request.ts'

/**
 * The claim does not hold any more. If this worker itself has ended the row, or items stand there under the ids that they were to
 * have, or the row has moved on in place as it was to, the answer to that was lost. What it has claimed since is known to it already.
 * `changes`: what was written, where that is known.
 */
export function settleReport(
  facts: WorkflowFacts,
  request: FinishRequest,
  workerId: string,
  changes: readonly WorkflowChange[] | null = null,
): FinishResult {
  const rows = new Map(facts.active.map(row => [row.id, row]))
  // In the order in which they were given their ids: the first has the place of the step.
  const written = request.ids.ids.flatMap(id => rows.get(id) ?? [])
  const ended = facts.ended.get(request.claimed.execution.id)
  const isEnded = ended?.owner === workerId && isAsReported(ended, request, changes)
  if (!isEnded && written.length === 0 && !hasMoved(rows.get(request.claimed.execution.id), request))
    return { kind: 'refused' }
  const isBegun = ({ id, fence }: ActiveExecution) =>
    request.ids.begun.some(row => row.id === id && row.fence === fence)
  const mine = written.filter(row => row.state === 'in_progress' && row.owner === workerId && isBegun(row))
  const [next, ...also] = mine.map(execution => ({ ...request.claimed, workflow: facts.workflow, execution }))
  return { kind: 'recorded', next: next ?? null, also }
}

/** What others bring a running step to, whose row keeps the name of its worker. */
const endsByOthers: ReadonlySet<Outcome> = new Set([
  'recovered',
  'stopped',
  'superseded',
  'unknown',
  'dead_lettered',
  'compensation_failed',
])

/**
 * Others may have ended it. Where it is not known any more what was written, an end that could be theirs counts as theirs: then
 * the report has come too late at worst. That a step completed, nobody says but itself. Where it is known, the outcome tells, which
 * stays while a rollback moves the state; the state tells only ends of the same outcome apart.
 */
function isAsReported(
  { state, outcome }: EndedExecution,
  { claimed }: FinishRequest,
  changes: readonly WorkflowChange[] | null,
): boolean {
  const isOwn = !endsByOthers.has(outcome)
  if (changes === null) return state === 'completed' || isOwn
  const written = changes
    .flatMap(({ endings }) => endings)
    .find(({ execution }) => execution.id === claimed.execution.id)
  return written?.outcome === outcome && (written.state === state || isOwn)
}

/** It is due at another time. Whoever takes over such a row ends it, or counts the crash; giving it back leaves its time. */
function hasMoved(row: ActiveExecution | undefined, { claimed, report }: FinishRequest): boolean {
  if (report.kind !== 'postpone' && report.kind !== 'suspend') return false
  const { fence, dueAt, crashes } = claimed.execution
  return row !== undefined && row.fence > fence && row.dueAt !== dueAt && row.crashes <= crashes
}
