/**
 * From what user code did to a report: it returned, it steered, or it threw. Shared by steps of classes and by jobs.
 * Nothing that user code throws gets out.
 */
import { pausePolicy } from '../definition/exception-policy.ts'
import type { FlowControl } from '../definition/flow-control.ts'
import type { ResolvedPolicy } from '../definition/resolve-policy.ts'
import type { RetryPolicy } from '../definition/retry-notation.ts'
import { resolveRetry } from '../definition/retry-policy.ts'
import { isGenevaError, StepTimeoutError } from '../errors.ts'
import { callAfter } from '../primitives/call-after.ts'
import { combineErrors, describeError } from '../primitives/describe-error.ts'
import type { StepReport } from './step-report.ts'

export interface StepOutcome {
  /** `null` when the code was not called, because the step may not begin any more. */
  readonly report: StepReport | null
  /** What user code threw, for `onError`, once the report is recorded. */
  readonly errors: readonly unknown[]
}

export interface OutcomeRules {
  /** Where flow control is recorded. */
  readonly context: { readonly flowControl: FlowControl | null }
  /** A resumable step that pauses is held where it is. */
  readonly isResumable: boolean
  /** Throws for a value that cannot be stored. */
  encode(value: unknown): string | null
  /** Checks and encodes what the workflow is to be continued with; only where the code belongs to a class. */
  restartInput?(value: unknown): Promise<{ readonly input: string | null; readonly lane: string }>
  readonly retry: RetryPolicy | null
  /** Failures in a row before this attempt. */
  readonly failures: number
  /** How long it may take; `null`: as long as it likes. */
  readonly timeout: Timeout | null
  /** What runs in a transaction is not waited for once it should stop: the transaction is undone. */
  readonly stop?: AbortSignal | null
  /** Never rejects. */
  policyFor(thrown: unknown): Promise<ResolvedPolicy>
}

export interface Timeout {
  readonly ms: number
  /** The workflow and the step, for the error. */
  readonly where: { readonly workflowId: string; readonly node: string; readonly nodeName?: string | null }
  /** Tells the code that its time is over. */
  abort(): void
}

/** Code that goes on all the same is not waited for, and what it comes to is ignored. */
function withinTime<T>(timeout: Timeout | null, stop: AbortSignal | null, run: () => Promise<T>): Promise<T> {
  if (stop !== null) return untilStopped(stop, () => withinTime(timeout, null, run))
  return timeout === null ? run() : untilTimeout(timeout, run)
}

async function untilTimeout<T>({ ms, where, abort }: Timeout, run: () => Promise<T>): Promise<T> {
  let cancel = () => {}
  const over = new Promise<never>((_, reject) => {
    cancel = callAfter(ms, () => {
      abort()
      reject(new StepTimeoutError(where.workflowId, where.nodeName ?? where.node, ms))
    })
  })
  const running = run()
  running.catch(() => {})
  try {
    return await Promise.race([running, over])
  } finally {
    cancel()
  }
}

/** A timeout speaks for itself, and comes with an error of its own. */
async function untilStopped<T>(signal: AbortSignal, run: () => Promise<T>): Promise<T> {
  let listener = () => {}
  const stopped = new Promise<never>((_, reject) => {
    listener = () => {
      if (signal.reason !== 'timed out') reject(new Error(`Undone, because it was told to stop: ${signal.reason}.`))
    }
    signal.addEventListener('abort', listener)
    if (signal.aborted) listener()
  })
  const running = run()
  running.catch(() => {})
  try {
    return await Promise.race([running, stopped])
  } finally {
    signal.removeEventListener('abort', listener)
  }
}

const noErrors: readonly unknown[] = []

export async function outcomeOf<Rules extends OutcomeRules>(
  rules: Rules,
  run: (rules: Rules) => Promise<StepReport | null>,
): Promise<StepOutcome> {
  const { context, timeout, stop = null } = rules
  try {
    const isUnbound = timeout === null && stop === null
    const report = await (isUnbound ? run(rules) : withinTime(timeout, stop, () => run(rules)))
    return { report: context.flowControl ? await steered(rules, context.flowControl) : report, errors: noErrors }
  } catch (thrown) {
    if (context.flowControl === null) return failed(rules, thrown)
    try {
      return { report: await steered(rules, context.flowControl), errors: noErrors }
    } catch (unstorable) {
      return failed(rules, unstorable)
    }
  }
}

async function steered(rules: OutcomeRules, flow: FlowControl): Promise<StepReport> {
  const { isResumable } = rules
  const { reason } = flow
  switch (flow.action) {
    case 'cancel':
      return { kind: 'cancel', by: 'flow_control', reason }
    case 'skip':
      return { kind: 'skip', by: 'flow_control', reason }
    case 'pause':
      return { kind: 'pause', hold: isResumable, reason }
    case 'suspend':
      return { kind: 'suspend', waitMs: flow.waitMs, reason }
    case 'postpone':
      // A resumable step keeps what it has done, so that is the same to it.
      return { kind: isResumable ? 'suspend' : 'postpone', waitMs: flow.waitMs, reason }
    case 'reattempt':
      return { kind: 'reattempt', waitMs: flow.waitMs, rewind: flow.rewind, reason }
    case 'restart':
      return {
        kind: 'restart',
        ...((await rules.restartInput?.(flow.result)) ?? { input: null, lane: '' }),
        waitMs: flow.waitMs,
      }
    case 'finish':
      return { kind: 'finish', output: rules.encode(flow.result), reason }
  }
}

const unasked: ResolvedPolicy = { policy: pausePolicy, ruleError: null }

/** First the step's own retries; when they are used up, or the error is not worth one, the exception policy. */
export async function failed(
  rules: Pick<OutcomeRules, 'retry' | 'failures' | 'policyFor'>,
  thrown: unknown,
): Promise<StepOutcome> {
  const again = rules.retry === null ? null : resolveRetry(failedAttempt(rules.retry, rules.failures, thrown))
  const retryMs = again?.retry?.delayMs ?? null
  // It may be a function of the user's, which is not asked about an error that is retried.
  const { policy, ruleError } = retryMs === null ? await rules.policyFor(thrown) : unasked
  const mistakes = [again?.ruleError ?? [], ruleError ?? []].flat()
  let error = describeError(thrown)
  for (const mistake of mistakes) {
    error = combineErrors(error, describeError(mistake.thrown), 'and then its onException threw')
  }
  return {
    report: {
      kind: 'threw',
      error,
      policy,
      retryMs,
      ...(rules.retry === null ? {} : { retried: rules.retry.attempts - 1 }),
      ...(isTimeout(thrown) ? { timedOut: true } : {}),
    },
    errors: [thrown, ...mistakes.map(mistake => mistake.thrown)],
  }
}

/** Anything can be thrown, also what cannot be looked at. */
function isTimeout(thrown: unknown): boolean {
  try {
    return thrown instanceof StepTimeoutError || isGenevaError(thrown, 'NOTHING_CAME')
  } catch {
    return false
  }
}

function failedAttempt(policy: RetryPolicy, before: number, error: unknown) {
  return { policy, error, failures: before + 1, random: Math.random, now: Date.now() }
}
