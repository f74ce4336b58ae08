/**
 * Runs the method that undoes a step, and says what it came to. No condition is asked and no hero is needed: what was done
 * is undone in any case. Hooks run around it as around a step. Nothing is written here.
 */

import { pausePolicy } from '../definition/exception-policy.ts'
import { instantiate } from '../definition/instantiate.ts'
import { normalizeRetry } from '../definition/retry-policy.ts'
import type { CompensationSettings, NodeDefinition, WorkflowDefinition } from '../definition/workflow-definition.ts'
import { InvalidArgumentError, StepMissingError } from '../errors.ts'
import { failpoint } from '../primitives/failpoint.ts'
import { decodeValue } from '../primitives/json-codec.ts'
import type { ClaimedExecution } from '../store/records.ts'
import { nodeOf, type StepJob, type StepRun, timeoutFor } from './execute-step.ts'
import { loadHero } from './load-hero.ts'
import { stepContext } from './make-context.ts'
import { runBody } from './run-body.ts'
import { failed, outcomeOf } from './step-outcome.ts'
import type { StepReport } from './step-report.ts'
import { givenIn, undoneBy } from './stored-input.ts'

/** What is known of the execution that is undone. */
export interface UndoneExecution {
  readonly node: string
  readonly attempt: number
  readonly output: string | null
  /** What it worked on; `null`: what its node says. */
  readonly input: string | null
}

export interface CompensationJob extends StepJob {
  /** `null` when it is gone. */
  readUndone(executionId: string): Promise<UndoneExecution | null>
}

/** A compensation that says nothing of it is worth three attempts. */
export const defaultRetry = normalizeRetry({}, 'a compensation')

export async function executeCompensation(job: CompensationJob): Promise<StepRun> {
  const { definition, claimed } = job
  const { execution, workflow } = claimed
  const node = nodeOf(definition, execution.node)
  const settings = node?.compensation ?? null
  const rules = {
    retry: settings === null ? null : retryOfCompensation(definition, settings),
    failures: execution.failures,
    policyFor: async () => ({ policy: pausePolicy, ruleError: null }),
  }
  if (node === undefined || settings === null) {
    const missing = new StepMissingError(workflow.id, definition.type, `${execution.node}, to undo it`)
    return { ...(await failed(rules, missing)), progress: null }
  }
  const context = stepContext(job, {
    mayOutliveHero: definition.mayOutliveHero,
    undoes: undoneBy(execution.input),
  })
  const timeout = settings.timeoutMs === null ? null : timeoutFor(job, settings.timeoutMs)
  const stop = settings.transactional ? { stop: job.signal } : {}
  const all = { ...rules, context, isResumable: false, encode: () => null, timeout, ...stop }
  const outcome = await outcomeOf(all, () => run(job, { node, settings, context }))
  return {
    ...outcome,
    report: asCompensation(settings, outcome.report),
    emitted: context.end(),
    progress: null,
    failedWith: error => failed(rules, error),
  }
}

interface Undoing {
  readonly node: NodeDefinition
  readonly settings: CompensationSettings
  readonly context: ReturnType<typeof stepContext>
}

async function run(job: CompensationJob, { node, settings, context }: Undoing): Promise<StepReport | null> {
  const { definition, claimed } = job
  context.loaded = await loadHero(definition, claimed.workflow)
  const undone = await job.readUndone(undoneBy(claimed.execution.input))
  const workflow = instantiate(definition, context)
  const answer = job.mayBegin()
  if (!(typeof answer === 'boolean' ? answer : await answer)) return null
  const transaction = settings.transactional ? [await job.transaction.begin()] : []
  failpoint?.('compensation.before')
  const call = async () =>
    runBody({
      definition,
      node: { ...node, body: settings.method },
      workflow,
      step: { name: node.name, attempt: claimed.execution.attempt, kind: 'compensate' },
      args: [compensationFor(claimed, undone, context, { isItem: node.each !== null }), ...transaction],
    })
  await (settings.transactional ? job.transaction.inside(call) : call())
  failpoint?.('compensation.after')
  return { kind: 'completed', output: null }
}

/** What the method receives. */
export function compensationFor(
  { workflow, execution }: ClaimedExecution,
  undone: UndoneExecution | null,
  { input, execution: info }: ReturnType<typeof stepContext>,
  { isItem }: { readonly isItem: boolean },
) {
  const { kind = 'failure', by = null } = workflow.rollback ?? {}
  const message = workflow.rollback?.message ?? (kind === 'cancel' ? 'it was canceled' : 'it has failed')
  return Object.freeze({
    output: undone === null ? undefined : decodeValue(undone.output),
    item: isItem && undone !== null ? decodeValue(givenIn(undone.input)) : undefined,
    input,
    reason: Object.freeze({ kind, message: message ?? '', by }),
    idempotencyKey: info.idempotencyKey,
    node: undone?.node ?? execution.node,
    attempt: execution.attempt,
  })
}

/** One that must not be called twice is not. */
export function retryOfCompensation(definition: WorkflowDefinition, { idempotent, retry }: CompensationSettings) {
  return idempotent ? (retry ?? definition.retry ?? defaultRetry) : null
}

/** What a compensation may come to: it can be put off, be attempted again or be left out, and its worker may shut down. */
const ends: ReadonlySet<StepReport['kind']> = new Set(['completed', 'skip', 'reattempt', 'postpone', 'released'])

/** It cannot steer a workflow that is ending. */
export function asCompensation(
  { idempotent }: Pick<CompensationSettings, 'idempotent'>,
  report: StepReport | null,
): StepReport | null {
  if (report?.kind === 'threw') return report.timedOut && !idempotent ? { ...report, unknown: true } : report
  if (report === null || ends.has(report.kind)) return report
  const error = new InvalidArgumentError(`A compensation cannot ${report.kind} its workflow, which is being undone.`)
  return {
    kind: 'threw',
    error: { className: error.name, message: error.message, stack: null },
    policy: pausePolicy,
    retryMs: null,
  }
}
