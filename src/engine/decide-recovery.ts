/**
 * What becomes of work that nobody will report on: its worker died, or its time to stop is over. Pure.
 */
import { CrashLimitError } from '../errors.ts'
import { describeError } from '../primitives/describe-error.ts'
import type { WorkflowChange, WorkflowFacts } from '../store/change.ts'
import type { ActiveExecution } from '../store/records.ts'
import { ChangeDraft } from './change-draft.ts'
import { endIfNothingRuns } from './decide-finish.ts'
import { type Plan, repeat } from './schedule.ts'

/** How many takeovers in a row a step survives. */
export const crashLimit = 3
/** After so many the next one is the last. */
export const lastChance = crashLimit - 1

/** The row's worker is dead: the attempt failed, the next one begins. A timer simply fires elsewhere. */
export function decideTakeover(facts: WorkflowFacts, found: ActiveExecution, plan: Plan): WorkflowChange {
  const draft = new ChangeDraft(facts)
  // It may have got its start mark since it was found.
  const row = facts.active.find(active => active.id === found.id) ?? found
  if (row.kind === 'timer') {
    draft.move(row, 'scheduled')
    return draft.build()
  }
  if (facts.workflow.state === 'rolling_back') {
    draft.end(row, 'skipped', 'stopped', { reason: 'its worker was lost' })
    endIfNothingRuns(draft, row.id)
    return draft.build()
  }
  const crashes = crashesAfter(row)
  const limit = crashes >= crashLimit ? new CrashLimitError(row.workflowId, row.node, crashes) : null
  draft.end(row, 'failed', 'recovered', {
    error: limit === null ? null : { ...describeError(limit), stack: null },
    reason: `worker ${row.owner} was lost`,
  })
  // It keeps its place in line: what was under way does not wait behind what came later.
  if (limit === null) repeat(draft, plan, row, { due: { at: row.dueAt }, failures: row.failures, crashes })
  else if (draft.state !== 'paused') draft.moveWorkflow('paused', { by: null, reason: limit.message }, 'exception')
  return draft.build()
}

/** Without a start mark it is not known whether this step ran at all, so its neighbours' deaths count once at most. */
export function crashesAfter(row: Pick<ActiveExecution, 'crashes' | 'startMark'>): number {
  return row.startMark ? row.crashes + 1 : Math.max(row.crashes, 1)
}

/** The time to stop is over: what still runs loses its claim, and the cancel is through. */
export function decideStopTimer(facts: WorkflowFacts): WorkflowChange {
  const draft = new ChangeDraft(facts)
  draft.dropTimers()
  if (facts.workflow.state === 'rolling_back') {
    for (const row of facts.active) {
      if (row.kind === 'forward') draft.end(row, 'skipped', 'stopped', { reason: 'it did not stop in time' })
    }
    draft.moveWorkflow('canceled')
  }
  return draft.build()
}
