/**
 * Runs the method that undoes a step, and says what it came to. No condition is asked and no hero is needed: what was done
 * is undone in any case. Hooks run around it as around a step. Nothing is written here.
 */

import { pausePolicy } from '../definition/exception-policy.ts'
import type { GraphNode } from '../definition/graph.ts'
import { instantiate } from '../definition/instantiate.ts'
import { normalizeRetry } from '../definition/retry-policy.ts'
import type { CompensationSettings, WorkflowDefinition } from '../definition/workflow-definition.ts'
import { InvalidArgumentError, StepMissingError } from '../errors.ts'
import { failpoint } from '../primitives/failpoint.ts'
import { decodeValue } from '../primitives/json-codec.ts'
import type { ClaimedExecution } from '../store/records.ts'
import { isItemOf, nodeOf, type StepJob, type StepRun, timeoutFor } from './execute-step.ts'
import { loadHero } from './load-hero.ts'
import { stepContext } from './make-context.ts'
import { currentName, ownerOf } from './plan.ts'
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
  /** What is undone, as the newest code had it that the class was before; `null`: none had it. */
  readonly formerNode: GraphNode | null
}

/** A compensation that says nothing of it is worth three attempts. */
export const defaultRetry = normalizeRetry({}, 'a compensation')

export async function executeCompensation(job: CompensationJob): Promise<StepRun> {
  const { definition, claimed } = job
  const { execution, workflow } = claimed
  const method = undoingOf(job)
  const rules = {
    retry: method === null ? null : retryOfCompensation(definition, method.settings),
    failures: execution.failures,
    policyFor: async () => ({ policy: pausePolicy, ruleError: null }),
  }
  if (method === null) {
    const missing = new StepMissingError(workflow.id, definition.type, `${execution.node}, to undo it`)
    return { ...(await failed(rules, missing)), progress: null }
  }
  const context = stepContext(job, {
    mayOutliveHero: definition.mayOutliveHero,
    undoes: undoneBy(execution.input),
  })
  const { settings } = method
  const timeout = settings.timeoutMs === null ? null : timeoutFor(job, settings.timeoutMs)
  const stop = settings.transactional ? { stop: job.signal } : {}
  const all = { ...rules, context, isResumable: false, encode: () => null, timeout, ...stop }
  const outcome = await outcomeOf(all, () => run(job, { ...method, context }))
  return {
    ...outcome,
    report: asCompensation(settings, outcome.report),
    emitted: context.end(),
    progress: null,
    failedWith: error => failed(rules, error),
  }
}

/** The method that undoes a node, and how. */
interface UndoMethod {
  /** The node that it undoes. */
  readonly name: string
  readonly isItem: boolean
  readonly settings: CompensationSettings
}

/** As the class says it. `null`: it has nothing that undoes the execution. */
function undoingOf(job: CompensationJob): UndoMethod | null {
  const { definition, claimed } = job
  const node = nodeOf(definition, claimed.execution.node)
  if (node === undefined) return lostMethodOf(job)
  const isItem = isItemOf(definition, claimed.execution.node)
  // What is run over items now cannot undo the step that it was.
  const fits = isItem === (node.each !== null)
  return fits && node.compensation !== null ? { name: node.name, isItem, settings: node.compensation } : null
}

/**
 * The class has lost the node, and may still have the method that undid it. Graphs do not tell of transactions: a method that
 * expects one is not called without. Nor is one that has become a step, or that belongs to another kind of node now.
 */
function lostMethodOf({ definition, claimed, formerNode }: CompensationJob): UndoMethod | null {
  const { graph, nodes, workflowClass } = definition
  const { name: method, afterFailure = false, once = false } = formerNode?.compensation ?? {}
  if (formerNode === null || method === undefined || formerNode.job !== undefined) return null
  const owner = ownerOf(claimed.execution.node)
  if (owner !== null && graph.find(currentName(graph, owner)) !== null) return null
  const code: unknown = workflowClass.prototype[method]
  if (typeof code !== 'function' || code.length > 1 || nodes.some(({ body }) => body === method)) return null
  const settings = { method, retry: null, timeoutMs: null, idempotent: !once, afterFailure, transactional: false }
  return { name: formerNode.name, isItem: formerNode.kind === 'item', settings }
}

interface Undoing extends UndoMethod {
  readonly context: ReturnType<typeof stepContext>
}

async function run(job: CompensationJob, { name, isItem, settings, context }: Undoing): Promise<StepReport | null> {
  const { definition, claimed } = job
  context.loaded = await loadHero(definition, claimed.workflow)
  const undone = await job.readUndone(undoneBy(claimed.execution.input))
  const workflow = instantiate(definition, context)
  const answer = job.mayBegin(!settings.idempotent)
  if (!(typeof answer === 'boolean' ? answer : await answer)) return null
  const transaction = settings.transactional ? [await job.transaction.begin()] : []
  failpoint?.('compensation.before')
  const call = async () =>
    runBody({
      definition,
      node: { name, body: settings.method },
      workflow,
      step: { name, attempt: claimed.execution.attempt, kind: 'compensate' },
      args: [compensationFor(claimed, undone, context, { isItem }), ...transaction],
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
