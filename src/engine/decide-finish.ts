/**
 * What becomes of a workflow when one of its steps ends. Pure: facts and a report in, changes to a draft out.
 */
import type { ExceptionPolicy } from '../definition/workflow-definition.ts'
import type { NewExecution } from '../store/change.ts'
import type { ActiveExecution, EndedState, Outcome } from '../store/records.ts'
import type { ChangeDraft } from './change-draft.ts'
import { abandonChild, stopStartedChild, waitForChild, waitForOther } from './child-nodes.ts'
import { continuationOf } from './continue-workflow.ts'
import { goOnFromOvertaken } from './dead-letters.ts'
import { decideCompensated } from './decide-compensated.ts'
import { insertItems, leavePlace, satisfyItem } from './each-items.ts'
import { deadLetter } from './give-up.ts'
import { heal, mustHeal } from './heal.ts'
import { noItems } from './items-done.ts'
import { isSelective, SelectiveJoins } from './joins.ts'
import { actOnLostJoins } from './lost-joins.ts'
import { currentName, type Plan, type RunOn } from './plan.ts'
import { givenBackReason, isUndoneWhenCutOff, rollbackOf } from './rollback.ts'
import { arrive, passReadyJoins, recover, repeat } from './schedule.ts'
import type { StepReport } from './step-report.ts'
import { endUnknown, isInCall } from './unknown-outcome.ts'
import { type WaitingAction, waitingReason } from './waiting-policy.ts'
import { beginWait } from './waits.ts'
import { cancelWorkflow, endIfNothingRuns, finishWorkflow, holdRows, pauseIfStuck, rollBack } from './wind-down.ts'

/**
 * The caller has made sure that `row` is in progress under the reporter's fence. A resumable step brings its progress,
 * which is then part of the row. Returns the rows that the worker goes on with, where there are some.
 */
export function decideFinish(
  draft: ChangeDraft,
  row: ActiveExecution,
  report: StepReport,
  { plan, runOn }: { readonly plan: Plan; readonly runOn: RunOn | null },
): readonly NewExecution[] {
  if (row.kind === 'compensate') {
    const next = decideCompensated(draft, row, report, { plan, runOn })
    return next === null ? [] : [next]
  }
  const { finishing, pauseCause } = draft.workflow
  if (draft.state === 'rolling_back' || finishing || pauseCause === 'finishing') {
    const goesOn = report.kind === 'child' && stopStartedChild(draft, plan, row, report.order)
    if (!goesOn) endStopped(draft, row, report, plan)
    return []
  }
  if (isSelective(plan.graph) && new SelectiveJoins(draft, plan).isBeaten(currentName(plan, row.node))) {
    if (report.kind === 'child') abandonChild(draft, plan, row, report.order)
    else endBeaten(draft, row, report)
    const followers = passReadyJoins(draft, plan, runOn)
    goOnFromOvertaken(draft, plan)
    pauseIfStuck(draft)
    return begun(followers)
  }
  const inserted = new Applying(draft, plan, runOn).apply(row, report)
  if (mustHeal(draft, plan)) heal(draft, plan)
  actOnLostJoins(draft, plan)
  goOnFromOvertaken(draft, plan)
  pauseIfStuck(draft)
  return begun(inserted)
}

function begun(rows: readonly NewExecution[]): readonly NewExecution[] {
  return rows.filter(row => row.owner !== null)
}

class Applying {
  readonly #draft: ChangeDraft
  readonly #plan: Plan
  readonly #runOn: RunOn | null

  constructor(draft: ChangeDraft, plan: Plan, runOn: RunOn | null) {
    this.#draft = draft
    this.#plan = plan
    this.#runOn = runOn
  }

  apply(row: ActiveExecution, report: StepReport): readonly NewExecution[] {
    const draft = this.#draft
    switch (report.kind) {
      case 'completed':
        return this.#completed(row, report)
      case 'skip':
        draft.end(row, 'skipped', `skipped_by_${report.by}`, { reason: report.reason })
        return this.#satisfied(row)
      case 'items':
        return this.#fanOut(row, report.items)
      case 'wait':
        return beginWait(draft, this.#plan, row)
      case 'child':
        waitForChild(draft, this.#plan, row, report.order)
        return []
      case 'watch':
        waitForOther(draft, this.#plan, row, report.workflowId)
        return []
      case 'reattempt':
        draft.end(row, 'completed', 'reattempted', { reason: report.reason })
        return this.#again(row, { inMs: report.waitMs, failures: 0, rewind: report.rewind })
      case 'suspend':
        suspend(draft, row, report)
        return []
      case 'finish':
        draft.end(row, 'completed', 'success', { output: report.output, reason: report.reason })
        finishWorkflow(draft, this.#plan)
        return []
      case 'restart':
        draft.end(row, 'completed', 'success', { reason: 'restarted the workflow' })
        draft.continueAs(continuationOf(this.#plan, report))
        finishWorkflow(draft, this.#plan)
        return []
      case 'cancel':
        draft.end(row, 'canceled', `canceled_by_${report.by}`, { reason: report.reason })
        cancelWorkflow(
          draft,
          { by: null, reason: report.reason },
          this.#plan,
          report.by === 'flow_control' ? row.id : null,
        )
        return []
      case 'pause':
        return this.#pause(row, report)
      case 'threw':
        return this.#threw(row, report)
      case 'postpone':
        draft.move(row, draft.isHeld ? 'paused' : 'scheduled', { due: { inMs: report.waitMs }, reason: report.reason })
        return []
      case 'released':
        return this.#released(row, report)
    }
  }

  /** Code to which it was a plain step knows no answer to what is a condition by now: it is asked anew, by newer code. */
  #completed(row: ActiveExecution, report: Extract<StepReport, { kind: 'completed' }>): readonly NewExecution[] {
    const draft = this.#draft
    const { output, result } = report
    if (result === undefined && this.#plan.graph.find(currentName(this.#plan, row.node))?.kind === 'condition') {
      draft.end(row, 'completed', 'reattempted', { output, reason: 'it is a condition by now, and is asked' })
      return this.#again(row, { inMs: 0, failures: 0 })
    }
    draft.end(row, 'completed', successOf(report), { output, reason: result === undefined ? null : String(result) })
    return this.#satisfied(row)
  }

  #pause(row: ActiveExecution, report: Extract<StepReport, { kind: 'pause' }>): readonly NewExecution[] {
    const draft = this.#draft
    if (report.hold) suspend(draft, row, { ...report, waitMs: 0 }, 'paused')
    else draft.end(row, 'canceled', 'canceled_by_flow_control', { reason: report.reason })
    if (!draft.isHeld) {
      holdRows(draft)
      draft.moveWorkflow('paused', { by: null, reason: report.reason }, 'flow_control')
    }
    if (!report.hold) leavePlace(draft, this.#plan, row.node)
    return []
  }

  /** What is called once cannot be given back in mid-call. What may have to be undone leaves its attempt behind, to be undone by. */
  #released(row: ActiveExecution, { called }: Extract<StepReport, { kind: 'released' }>): readonly NewExecution[] {
    const draft = this.#draft
    if (called !== false && isInCall(row)) {
      return endUnknown(draft, this.#plan, row, { reason: givenBackReason })
    }
    if (called && isUndoneWhenCutOff(this.#plan, row.node)) {
      recover(draft, this.#plan, row, { reason: givenBackReason, crashes: row.crashes })
    } else draft.move(row, draft.isHeld ? 'paused' : 'scheduled', unlessCalled(draft, row, called))
    return []
  }

  #threw(row: ActiveExecution, report: Extract<StepReport, { kind: 'threw' }>): readonly NewExecution[] {
    const draft = this.#draft
    const { error } = report
    if (report.unknown) return endUnknown(draft, this.#plan, row, { error })
    const failures = row.failures + 1
    const timedOut = report.timedOut ? 'timed_out' : null
    if (report.retryMs !== null) {
      draft.end(row, 'failed', timedOut ?? 'reattempted_by_exception', { error })
      return this.#again(row, { inMs: report.retryMs, failures })
    }
    const { retried = 0 } = report
    // An error that is not worth a retry uses up what was left of them, so from here on each failure is one beyond.
    const beyond = Math.max(1, failures - retried)
    const action = actionFor(report.policy, beyond)
    if (action !== 'reattempt' && action !== 'skip' && this.#isAbsorbed(row)) {
      draft.end(row, 'failed', timedOut ?? absorbedOutcomes[action], {
        error,
        reason: waitingReason({ action, failures }),
      })
      leavePlace(draft, this.#plan, row.node)
      return passReadyJoins(draft, this.#plan, this.#runOn)
    }
    switch (action) {
      case 'reattempt':
        draft.end(row, 'failed', timedOut ?? 'reattempted_by_exception', { error })
        return this.#again(row, { inMs: report.policy.waitMs, failures: retried + beyond })
      case 'skip':
        draft.end(row, 'skipped', 'skipped_by_exception', { error })
        return this.#satisfied(row)
      case 'rollback':
        draft.end(row, 'failed', timedOut ?? 'rolled_back_by_exception', { error })
        rollBack(draft, this.#plan, rollbackOf('failure', error.message))
        return []
      case 'cancel':
        draft.end(row, 'failed', timedOut ?? 'canceled_by_exception', { error })
        cancelWorkflow(draft, { by: null, reason: error.message }, this.#plan)
        return []
      case 'dlq':
        deadLetter(draft, this.#plan, row, {
          error,
          reason: row.failures > 0 ? 'retries_exhausted' : 'policy',
          outcome: timedOut ?? 'dead_lettered',
        })
        return []
      case 'pause':
        draft.end(row, 'failed', timedOut ?? 'paused_by_exception', { error })
        draft.setWorkflow({ blockedBy: draft.workflow.blockedBy ?? row.node })
        leavePlace(draft, this.#plan, row.node)
        return []
    }
  }

  /** A join can do without the branch: what the policy says waits, and acts if the join fails. */
  #isAbsorbed({ node }: ActiveExecution): boolean {
    if (!isSelective(this.#plan.graph)) return false
    return new SelectiveJoins(this.#draft, this.#plan, node).isAbsorbed(currentName(this.#plan, node))
  }

  #again(row: ActiveExecution, again: { inMs: number; failures: number; rewind?: boolean }): readonly NewExecution[] {
    const { inMs, failures, rewind = false } = again
    const due = { inMs }
    return [repeat(this.#draft, this.#plan, row, { due, failures, crashes: 0, rewind, runOn: this.#runOn })]
  }

  /** A graph that has changed is looked at as a whole afterwards. */
  #satisfied(row: ActiveExecution): readonly NewExecution[] {
    const draft = this.#draft
    const plan = this.#plan
    if (mustHeal(draft, plan)) return []
    const each = plan.graph.eachOf(currentName(plan, row.node))
    return each === null ? arrive(draft, plan, row, this.#runOn) : satisfyItem(draft, plan, each, this.#runOn)
  }

  #fanOut(row: ActiveExecution, items: readonly string[]): readonly NewExecution[] {
    const draft = this.#draft
    if (items.length > 0) return insertItems(draft, this.#plan, row, { items, runOn: this.#runOn })
    draft.end(row, 'completed', 'success', { output: null, reason: noItems })
    return this.#satisfied(row)
  }
}

function successOf({ confirmed, resolved }: Extract<StepReport, { kind: 'completed' }>): Outcome {
  return confirmed ? 'confirmed' : resolved ? 'resolved' : 'success'
}

/** What a step is recorded with that has ended its branch only: what its policy would have done. */
const absorbedOutcomes: Readonly<Record<WaitingAction, Outcome>> = {
  pause: 'paused_by_exception',
  cancel: 'canceled_by_exception',
  rollback: 'rolled_back_by_exception',
  dlq: 'dead_lettered',
}

/** A join was decided without it: it is recorded, and nothing follows. */
function endBeaten(draft: ChangeDraft, row: ActiveExecution, report: StepReport): void {
  const completed = report.kind === 'completed' || report.kind === 'finish'
  draft.end(row, completed ? 'completed' : 'canceled', 'superseded', {
    output: completed ? report.output : null,
    error: report.kind === 'threw' ? report.error : null,
    reason: whyGivenBack(report),
  })
}

function whyGivenBack(report: StepReport): string | null {
  return report.kind === 'released' && report.called ? givenBackReason : null
}

/** A claim that has come to no call is no run. What a resumable step reports says so by itself, also if a hook was called. */
function unlessCalled(draft: ChangeDraft, row: ActiveExecution, called: boolean | undefined): { runs?: number } {
  const { runs } = (draft.rowIn(row.slot) ?? row).progress
  const left = called === false ? Math.max(0, runs - 1) : row.progress.runs
  return left === runs ? {} : { runs: left }
}

/** Same row, same attempt. In a paused workflow it is held, to be suspended again when that goes on. */
function suspend(
  draft: ChangeDraft,
  row: ActiveExecution,
  { waitMs, reason }: { waitMs: number; reason: string | null },
  into: 'suspended' | 'paused' = draft.isHeld ? 'paused' : 'suspended',
): void {
  draft.move(row, into, { heldFrom: 'suspended', progress: row.progress, due: { inMs: waitMs }, reason })
}

/** A reattempt that has used up its limit gives way to what comes then. */
function actionFor(policy: ExceptionPolicy, failures: number): ExceptionPolicy['action'] {
  const exhausted = policy.action === 'reattempt' && policy.limit !== null && failures > policy.limit
  return exhausted ? policy.then : policy.action
}

/** The workflow is being ended: a step that completed all the same is recorded so, any other was stopped. */
function endStopped(draft: ChangeDraft, row: ActiveExecution, report: StepReport, plan: Plan): void {
  const details = {
    output: 'output' in report ? report.output : null,
    error: report.kind === 'threw' ? report.error : null,
    reason: whyGivenBack(report),
  }
  draft.end(row, ...endWhileEnding(draft, report), details)
  // Declared finished while somebody keeps it paused: it ends when that is over.
  if (!draft.isHeld) endIfNothingRuns(draft, plan)
}

function endWhileEnding(draft: ChangeDraft, report: StepReport): [EndedState, Outcome] {
  const completed = report.kind === 'completed' || report.kind === 'finish' || report.kind === 'restart'
  const isUndoing = draft.state === 'rolling_back'
  if (completed) return ['completed', isUndoing || draft.isHeld ? 'success' : 'superseded']
  if (!isUndoing) return ['canceled', 'superseded']
  // Nobody knows whether a call that must not be repeated has happened, and that is to be seen afterwards.
  return report.kind === 'threw' && report.unknown ? ['failed', 'unknown'] : ['skipped', 'stopped']
}
