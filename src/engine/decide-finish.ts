/**
 * What becomes of a workflow when one of its steps ends. Pure: facts and a report in, a change out.
 */
import type { ExceptionPolicy } from '../definition/workflow-definition.ts'
import type { NewExecution, WorkflowChange, WorkflowFacts } from '../store/change.ts'
import type { ActiveExecution, Outcome } from '../store/records.ts'
import { ChangeDraft } from './change-draft.ts'
import { advance, type Plan, repeat } from './schedule.ts'
import type { StepReport } from './step-report.ts'

export interface FinishDecision {
  readonly change: WorkflowChange
  /** The row that follows, where there is one. */
  readonly next: NewExecution | null
}

/**
 * The caller has made sure that `row` is in progress under the reporter's fence. A resumable step brings its progress,
 * which is then part of the row.
 */
export function decideFinish(
  facts: WorkflowFacts,
  row: ActiveExecution,
  report: StepReport,
  plan: Plan,
): FinishDecision {
  const draft = new ChangeDraft(facts)
  const next =
    facts.workflow.state === 'rolling_back' ? endStopped(draft, row, report) : apply(draft, row, report, plan)
  return { change: draft.build(), next }
}

function apply(draft: ChangeDraft, row: ActiveExecution, report: StepReport, plan: Plan): NewExecution | null {
  switch (report.kind) {
    case 'completed':
      draft.end(row, 'completed', 'success', { output: report.output })
      return advance(draft, plan, row)
    case 'skip':
      draft.end(row, 'skipped', `skipped_by_${report.by}`, { reason: report.reason })
      return advance(draft, plan, row)
    case 'reattempt':
      draft.end(row, 'completed', 'reattempted', { reason: report.reason })
      return repeat(draft, plan, row, {
        due: { inMs: report.waitMs },
        failures: 0,
        crashes: 0,
        rewind: report.rewind,
      })
    case 'suspend':
      suspend(draft, row, report)
      return null
    case 'finish':
      draft.end(row, 'completed', 'success', { output: report.output, reason: report.reason })
      if (draft.state === 'paused') draft.changePauseCause('finishing')
      else draft.moveWorkflow('finished')
      return null
    case 'cancel':
      draft.end(row, 'canceled', `canceled_by_${report.by}`, { reason: report.reason })
      draft.moveWorkflow('canceled', { by: null, reason: report.reason })
      return null
    case 'pause':
      if (report.hold) suspend(draft, row, { ...report, waitMs: 0 }, 'paused')
      else draft.end(row, 'canceled', 'canceled_by_flow_control', { reason: report.reason })
      if (draft.state !== 'paused') draft.moveWorkflow('paused', { by: null, reason: report.reason }, 'flow_control')
      return null
    case 'threw':
      return applyPolicy(draft, row, report, plan)
    case 'released':
      draft.move(row, draft.state === 'paused' ? 'paused' : 'scheduled')
      return null
  }
}

/** Same row, same attempt. In a paused workflow it is held, to be suspended again when that goes on. */
function suspend(
  draft: ChangeDraft,
  row: ActiveExecution,
  { waitMs, reason }: { waitMs: number; reason: string | null },
  into: 'suspended' | 'paused' = draft.state === 'paused' ? 'paused' : 'suspended',
): void {
  draft.move(row, into, { heldFrom: 'suspended', progress: row.progress, due: { inMs: waitMs }, reason })
}

function applyPolicy(
  draft: ChangeDraft,
  row: ActiveExecution,
  report: Extract<StepReport, { kind: 'threw' }>,
  plan: Plan,
): NewExecution | null {
  const { error } = report
  const failures = row.failures + 1
  switch (actionFor(report.policy, failures)) {
    case 'reattempt':
      draft.end(row, 'failed', 'reattempted_by_exception', { error })
      return repeat(draft, plan, row, { due: { inMs: report.policy.waitMs }, failures, crashes: 0 })
    case 'skip':
      draft.end(row, 'skipped', 'skipped_by_exception', { error })
      return advance(draft, plan, row)
    case 'cancel':
      draft.end(row, 'failed', 'canceled_by_exception', { error })
      draft.moveWorkflow('canceled', { by: null, reason: error.message })
      return null
    case 'pause':
      draft.end(row, 'failed', 'paused_by_exception', { error })
      if (draft.state !== 'paused') draft.moveWorkflow('paused', { by: null, reason: error.message }, 'exception')
      return null
  }
}

/** A reattempt that has used up its limit gives way to what comes then. */
function actionFor(policy: ExceptionPolicy, failures: number): ExceptionPolicy['action'] {
  const exhausted = policy.action === 'reattempt' && policy.limit !== null && failures > policy.limit
  return exhausted ? policy.then : policy.action
}

/** The workflow is being canceled: a step that completed all the same is recorded so, any other was stopped. */
function endStopped(draft: ChangeDraft, row: ActiveExecution, report: StepReport): null {
  const completed = report.kind === 'completed' || report.kind === 'finish'
  const outcome: Outcome = completed ? 'success' : 'stopped'
  draft.end(row, completed ? 'completed' : 'skipped', outcome, {
    output: completed ? report.output : null,
    error: report.kind === 'threw' ? report.error : null,
  })
  endIfNothingRuns(draft, row.id)
  return null
}

/** The last running row is gone: the cancel is through. */
export function endIfNothingRuns(draft: ChangeDraft, endedId: string): void {
  const running = draft.facts.active.some(row => row.kind === 'forward' && row.id !== endedId)
  if (running) return
  draft.dropTimers()
  draft.moveWorkflow('canceled')
}
