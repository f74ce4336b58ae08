/**
 * What tests claim about a workflow. A claim that does not hold is an `AssertionError`, which every runner understands;
 * its message tells what the workflow has been through.
 */
import { AssertionError } from 'node:assert'
import { inspect, isDeepStrictEqual } from 'node:util'
import type { Execution } from '../client/execution.ts'
import type { StepProgress } from '../client/step-progress.ts'
import type { WorkflowHandle } from '../client/workflow-handle.ts'
import { InvalidArgumentError } from '../errors.ts'
import type { Outcome, WorkflowState } from '../store/records.ts'

/** All that the claims below look at, read once. */
export interface Evidence {
  readonly workflow: WorkflowHandle<any>
  readonly history: readonly Execution[]
  /** The steps that the class declares. */
  readonly declared: readonly string[]
  /** What a step of the workflow threw last. */
  readonly lastError: { readonly thrown: unknown } | null
}

/** Outcomes of attempts that ended before the step's own code. */
const withoutBody: ReadonlySet<Outcome | null> = new Set(['skipped_by_condition', 'canceled_by_condition'])

/** The steps whose code ran, in order and once per attempt. Those that only a condition looked at are left out. */
export function executedSteps(history: readonly Execution[]): string[] {
  return history
    .filter(({ startedAt, endedAt, outcome }) => startedAt !== null && endedAt !== null && !withoutBody.has(outcome))
    .map(({ step }) => step)
}

export function checkState(evidence: Evidence, expected: WorkflowState): void {
  const { state } = evidence.workflow
  if (state !== expected) fail(evidence, `is ${state}, not ${expected}`, state, expected)
}

/** Without `times`: at least once. */
export function checkExecuted(evidence: Evidence, step: string, times?: number): void {
  requireStep(evidence, step)
  const count = executedSteps(evidence.history).filter(name => name === step).length
  if (times === undefined ? count > 0 : count === times) return
  const found = count === 0 ? `has not executed step ${step}` : `has executed step ${step} ${timesInWords(count)}`
  const wanted = times === undefined ? 'but should have' : `not ${timesInWords(times)}`
  fail(evidence, `${found}, ${wanted}`, count, times ?? 1)
}

/** The latest attempt counts. */
export function checkSkipped(evidence: Evidence, step: string): void {
  requireStep(evidence, step)
  const latest = evidence.history.findLast(execution => execution.step === step)
  if (latest?.state === 'skipped') return
  const found = latest ? `is ${latest.state}` : 'has not been reached'
  fail(evidence, `has not skipped step ${step}: it ${found}`, latest?.state ?? null, 'skipped')
}

export function checkExecutedSteps(evidence: Evidence, expected: readonly string[]): void {
  const steps = executedSteps(evidence.history)
  if (steps.length === expected.length && steps.every((step, index) => step === expected[index])) return
  fail(evidence, `has executed ${list(steps)}, not ${list(expected)}`, steps, expected)
}

/** Of the resumable step that was reached last, whether it has ended or not. */
export function checkCursor(evidence: Evidence, expected: unknown): void {
  const { cursor } = latestProgress(evidence)
  if (isDeepStrictEqual(cursor, expected)) return
  fail(evidence, `has the cursor ${inspect(cursor)}, not ${inspect(expected)}`, cursor, expected)
}

export function checkIterations(evidence: Evidence, expected: number): void {
  const { completed } = latestProgress(evidence)
  if (completed !== expected) fail(evidence, `has done ${completed} items, not ${expected}`, completed, expected)
}

function latestProgress({ workflow, history }: Evidence): StepProgress {
  const latest = history.findLast(execution => execution.progress !== null)
  if (latest?.progress) return latest.progress
  throw new InvalidArgumentError(`Workflow ${workflow.id} (${workflow.type}) has not reached a resumable step.`)
}

/** A misspelled step was never executed either, so that a test would pass for the wrong reason. */
function requireStep({ workflow, history, declared }: Evidence, step: string): void {
  if (declared.includes(step) || history.some(execution => execution.step === step)) return
  throw new InvalidArgumentError(
    `${workflow.type} has no step ${JSON.stringify(step)}. Its steps are ${list(declared)}.`,
  )
}

function fail(evidence: Evidence, what: string, actual: unknown, expected: unknown): never {
  const { workflow, history, lastError } = evidence
  const error = new AssertionError({
    message: [`Workflow ${workflow.id} (${workflow.type}) ${what}.`, ...history.map(describe)].join('\n'),
    actual,
    expected,
  })
  if (lastError) error.cause = lastError.thrown
  throw error
}

function describe({ step, attempt, state, outcome, error, reason, scheduledFor, progress }: Execution): string {
  const due = outcome === null ? `due ${scheduledFor.toISOString()}` : outcome
  const end = progress ? `${due}, ${progress.completed} items, cursor ${inspect(progress.cursor)}` : due
  const why = error ? `: ${error.className}: ${error.message}` : reason ? `: ${reason}` : ''
  return `  ${step}, attempt ${attempt}: ${state} (${end})${why}`
}

function list(steps: readonly string[]): string {
  return steps.length === 0 ? 'no step' : steps.join(', ')
}

function timesInWords(times: number): string {
  return times === 0 ? 'at all' : times === 1 ? 'once' : `${times} times`
}
