/**
 * Records what steps came to, many in one transaction. Fences are matched first; what follows a step is written only
 * where its claim still holds. A late report by a worker that lost its claim is refused.
 */
import type { WorkflowChange, WorkflowFacts } from '../store/change.ts'
import type { ActiveExecution, ClaimedExecution, Progress } from '../store/records.ts'
import { decideFinish } from './decide-finish.ts'
import { type Engine, holds } from './engine.ts'
import type { StepReport } from './step-report.ts'

export interface FinishRequest {
  readonly claimed: ClaimedExecution
  readonly report: StepReport
  /** How far a resumable step has come; `null` for any other. */
  readonly progress: Progress | null
  /** The worker may go on at once with the next step of a queue it serves. */
  readonly runOn: { serves(queue: string): boolean } | null
  /** Reserved for what follows; the same over all tries, so that a lost answer can be settled. */
  readonly nextId: string
  /** An earlier try may have been committed. */
  readonly repeated: boolean
}

export type FinishResult =
  | { readonly kind: 'recorded'; readonly next: ClaimedExecution | null }
  | { readonly kind: 'refused' }

/** At most one request per workflow. */
export async function finishSteps(
  engine: Engine,
  workerId: string,
  requests: readonly FinishRequest[],
): Promise<FinishResult[]> {
  const byWorkflow = new Map(requests.map(request => [request.claimed.workflow.id, request]))
  const graphs = await graphsFor(engine, requests)
  const results = new Map<string, FinishResult>()
  const decide = (facts: WorkflowFacts, alive: boolean): WorkflowChange | null => {
    const request = byWorkflow.get(facts.workflow.id)
    const known = request && graphs.get(request.claimed.execution.handler)
    if (!request || !known) return null
    const { execution } = request.claimed
    const found = facts.active.find(active => active.id === execution.id)
    if (!found || !holds(facts, execution)) {
      results.set(facts.workflow.id, settle(facts, request, workerId))
      return null
    }
    const row = request.progress === null ? found : { ...found, progress: request.progress }
    const runOn = alive && request.runOn ? { workerId, serves: request.runOn.serves } : null
    const plan = { ...known, others: [], nextId: request.nextId, skippedId: request.nextId, runOn }
    const { change, next } = decideFinish(facts, row, request.report, plan)
    const mine =
      next?.state === 'in_progress' ? asClaimed(request.claimed, row, { ...row, ...next, startMark: false }) : null
    results.set(facts.workflow.id, { kind: 'recorded', next: mine })
    return change
  }
  const targets = requests.map(({ claimed, repeated }) => ({
    workflowId: claimed.workflow.id,
    settle: claimed.execution.id,
    repeated,
    withPassed: (graphs.get(claimed.execution.handler)?.movedBack.size ?? 0) > 0,
  }))
  const changes = await engine.store.change(targets, decide, workerId)
  engine.ends.noteAll(changes)
  return requests.map(({ claimed }) => results.get(claimed.workflow.id) ?? { kind: 'refused' })
}

async function graphsFor(engine: Engine, requests: readonly FinishRequest[]) {
  const types = [...new Set(requests.map(request => request.claimed.execution.handler))]
  const graphs = await Promise.all(types.map(type => engine.graphFor(type)))
  return new Map(types.map((type, index) => [type, graphs[index]]))
}

/** The claim does not hold any more. If this worker itself has ended the row, the answer to that was lost. */
function settle(facts: WorkflowFacts, request: FinishRequest, workerId: string): FinishResult {
  if (facts.endedBy.get(request.claimed.execution.id) !== workerId) return { kind: 'refused' }
  const next = facts.active.find(
    row => row.id === request.nextId && row.state === 'in_progress' && row.owner === workerId,
  )
  return { kind: 'recorded', next: next ? { ...request.claimed, execution: next } : null }
}

function asClaimed(before: ClaimedExecution, row: ActiveExecution, next: ActiveExecution): ClaimedExecution {
  return { ...before, execution: { ...next, dueAt: row.dueAt, startedAt: row.startedAt } }
}
