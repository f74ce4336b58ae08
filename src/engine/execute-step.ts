/**
 * Runs the code of one step and says what it came to. Order: hero, `cancelIf`, `if` / `skipIf`, hooks, body, hooks.
 * Nothing is written here, and nothing that user code throws gets out.
 */

import { evaluateTest } from '../definition/evaluate-test.ts'
import type { Graph } from '../definition/graph.ts'
import { instantiate } from '../definition/instantiate.ts'
import { type ResolvedPolicy, resolvePolicy } from '../definition/resolve-policy.ts'
import type { RetryPolicy } from '../definition/retry-notation.ts'
import type { EmittedEvent } from '../definition/step-context.ts'
import type { AnyWorkflow } from '../definition/workflow.ts'
import type {
  ChildSettings,
  EachSettings,
  NodeDefinition,
  Test,
  WorkflowDefinition,
} from '../definition/workflow-definition.ts'
import { InvalidArgumentError, isGenevaError, StepMissingError } from '../errors.ts'
import { describeError } from '../primitives/describe-error.ts'
import { failpoint } from '../primitives/failpoint.ts'
import { decodeValue, encodeValue } from '../primitives/json-codec.ts'
import type { ActiveExecution } from '../store/records.ts'
import { calledOnce, reconciled } from './called-once.ts'
import type { ChildHost } from './child-host.ts'
import type { ReportedProgress } from './finish-request.ts'
import { IterationCore } from './iteration/iteration-core.ts'
import type { IterationHost } from './iteration/iteration-host.ts'
import { StepIteration } from './iteration/step-iteration.ts'
import { isHeroGone, loadHero, noHero } from './load-hero.ts'
import { isSkippedWhenLost } from './lost-nodes.ts'
import { type ContextSource, stepContext } from './make-context.ts'
import type { MessageReader } from './message-reader.ts'
import { isPassive } from './pass-node.ts'
import { currentName } from './plan.ts'
import { runBody } from './run-body.ts'
import { runChild } from './run-child.ts'
import { encodeInput } from './start-orders.ts'
import { failed, type OutcomeRules, outcomeOf, type StepOutcome, type Timeout } from './step-outcome.ts'
import type { StepReport } from './step-report.ts'
import type { CallTransaction } from './step-transaction.ts'
import { cameIn, givenIn, hasWaited, isReconciling } from './stored-input.ts'

/** More would be one transaction of that size. */
const maxItems = 100_000

export interface StepJob extends ContextSource {
  readonly definition: WorkflowDefinition
  /** What the workflow goes by: the newest code that it has met, which may be newer than this. */
  readonly graph: Graph
  /** Of a workflow that it goes on as. */
  readonly maxInputBytes: number
  readonly maxOutputBytes: number
  /** Aborts the signal because the time is over. */
  timeOut(): void
  /** Comes right before hooks and body; what it throws counts as thrown by them. */
  beforeCall(): void
  /** What `child` nodes need of the engine. */
  readonly children: ChildHost
  /** What nodes that wait for people or a message need of the engine. */
  readonly messages: MessageReader
  /** For a step whose code runs in one. */
  readonly transaction: CallTransaction
  /** What resumable steps need of the worker. */
  readonly host: IterationHost
  /**
   * Asked right before hooks and body are called: whether the claim still holds, where that can be told at once. `once`: the code
   * that is about to be called must not be called twice, whatever newer code says of it.
   */
  mayBegin(once?: boolean): boolean | Promise<boolean>
}

export interface StepRun extends StepOutcome {
  readonly progress: ReportedProgress
  /** What it has emitted. */
  readonly emitted?: readonly EmittedEvent[]
  /** What it comes to when its transaction could not be committed. */
  failedWith?(error: unknown): Promise<StepOutcome>
}

export async function executeStep(job: StepJob): Promise<StepRun> {
  const { definition, claimed } = job
  const node = nodeOf(definition, claimed.execution.node)
  if (node === undefined) return { ...missingStep(job), progress: null }
  let context: Context
  try {
    context = stepContext(job, { mayOutliveHero: definition.mayOutliveHero })
  } catch (unreadable) {
    return { ...(await failed(new StepPolicies(job, node), unreadable)), progress: null }
  }
  const { name, resumable } = node
  const core = resumable && new IterationCore({ name, host: job.host, settings: resumable, context })
  const attempt = new Attempt(job, node, context, core)
  const outcome = await outcomeOf(attempt, runPhases)
  const emitted = context.end()
  const report = node.idempotent ? outcome.report : calledOnce(outcome.report)
  const progress = core === null ? null : await core.end()
  const run = { report, errors: outcome.errors, emitted, progress }
  return node.transactional ? { ...run, failedWith: error => failed(attempt, error) } : run
}

type Context = ReturnType<typeof stepContext>

/** What comes of an attempt that has failed. */
class StepPolicies {
  readonly job: StepJob
  readonly node: NodeDefinition

  constructor(job: StepJob, node: NodeDefinition) {
    this.job = job
    this.node = node
  }

  get retry(): RetryPolicy | null {
    return this.node.idempotent ? (this.node.retry ?? this.job.definition.retry) : null
  }

  get failures(): number {
    return this.job.claimed.execution.failures
  }

  policyFor(thrown: unknown): Promise<ResolvedPolicy> {
    return resolvePolicy(this.job.definition, rulesAfter(this.node, thrown), thrown)
  }
}

/** One call of a step's code. A class, because every step comes through here, and an object of closures costs many times as much. */
class Attempt extends StepPolicies implements OutcomeRules {
  readonly context: Context
  /** Set exactly for resumable steps. */
  readonly core: IterationCore | null

  constructor(job: StepJob, node: NodeDefinition, context: Context, core: IterationCore | null) {
    super(job, node)
    this.context = context
    this.core = core
  }

  get isResumable(): boolean {
    return this.core !== null
  }

  get timeout(): Timeout | null {
    const ms = this.node.timeoutMs ?? this.job.definition.timeoutMs
    return ms === null ? null : timeoutFor(this.job, ms, this.core)
  }

  get stop(): AbortSignal | null {
    return this.node.transactional ? this.job.signal : null
  }

  encode(value: unknown): string | null {
    return encodeOutput(this.job, value)
  }

  restartInput(value: unknown): Promise<{ readonly input: string | null; readonly lane: string }> {
    const { definition, claimed, maxInputBytes } = this.job
    return encodeInput(definition, claimed.workflow.hero, value, maxInputBytes)
  }
}

/** What follows when nothing came in time may be said apart. */
function rulesAfter(node: NodeDefinition, thrown: unknown): NodeDefinition {
  const onTimeout = node.waitsFor?.onTimeout ?? []
  const nothingCame = onTimeout.length > 0 && isGenevaError(thrown, 'NOTHING_CAME')
  return nothingCame ? { ...node, onException: onTimeout } : node
}

/** Flow control that comes after its time is not recorded: the context has been reported on. */
export function timeoutFor(
  job: Pick<StepJob, 'claimed' | 'timeOut'>,
  ms: number,
  core: IterationCore | null = null,
): Timeout {
  const abort = () => {
    job.timeOut()
    core?.leaveBehind()
  }
  return { ms, where: job.claimed.execution, abort }
}

async function runPhases({ job, node, context, core }: Attempt): Promise<StepReport | null> {
  const { definition, claimed } = job
  // One that the workflow begins with has a row like a step. No code is called for it, as for any other.
  if (isPassive(node)) return { kind: 'completed', output: null }
  const isItem = node.each !== null && isItemOf(definition, claimed.execution.node)
  context.loaded = claimed.workflow.hero === null ? noHero : await loadHero(definition, claimed.workflow)
  if (isHeroGone(context.loaded) && !definition.mayOutliveHero) {
    return { kind: 'cancel', by: 'condition', reason: 'the hero is gone' }
  }
  const workflow = instantiate(definition, context)
  for (const test of definition.cancelIf) {
    if (await evaluateTest(test, workflow)) return { kind: 'cancel', by: 'condition', reason: whyCanceled(test) }
  }
  // Whether an item runs, or what waited for a child, was asked when its node was reached.
  const came = cameIn(claimed.execution.input)
  const asked = !isItem && !hasWaited(claimed.execution.input) && (core === null || !hasBegun(claimed.execution))
  if (asked && node.condition && (await evaluateTest(node.condition.test, workflow)) !== node.condition.runsWhen) {
    return { kind: 'skip', by: 'condition', reason: null }
  }
  if (node.reconcile !== null && isReconciling(claimed.execution.input)) {
    const settled = await askWhetherItHappened(job, node.reconcile, workflow)
    if (settled !== null) return settled
  }
  // Waits only where it must: once the answer is there, nothing may come between it and the call.
  const answer = job.mayBegin(!node.idempotent)
  if (!(typeof answer === 'boolean' ? answer : await answer)) return null
  const child = node.child === null ? null : await runChildOf(job, node.child, workflow)
  if (child !== null && 'kind' in child) return child
  if (node.waitsFor !== null && came === null) return { kind: 'wait' }
  const message = node.waitsFor === null || came === null ? null : await job.messages.read(node, node.waitsFor, came)
  if (node.each !== null && !isItem) return { kind: 'items', items: await itemsOf(job, node.each, workflow) }
  if (node.transactional) context.transaction = await job.transaction.begin()
  failpoint?.('step.before')
  job.beforeCall()
  core?.checkLimit()
  const iteration = core === null ? undefined : StepIteration.outermost(core)
  const received = child?.child ?? message ?? iteration ?? context.transaction ?? undefined
  const argument = isItem ? decodeValue(givenIn(claimed.execution.input)) : received
  const step = { name: node.name, attempt: claimed.execution.attempt }
  const call = { definition, node, workflow, step, args: [argument], begins: core }
  const output = await (node.transactional ? job.transaction.inside(async () => runBody(call)) : runBody(call))
  failpoint?.('step.after')
  if (node.kind === 'condition') return { kind: 'completed', output: String(Boolean(output)), result: Boolean(output) }
  const encoded = context.flowControl ? null : encodeOutput(job, output)
  return node.kind === 'human'
    ? { kind: 'completed', output: encoded, confirmed: true }
    : { kind: 'completed', output: encoded }
}

/** `null`: it did not happen, so it is called now. */
async function askWhetherItHappened(job: StepJob, method: string, workflow: AnyWorkflow): Promise<StepReport | null> {
  const answer = await (workflow as unknown as Record<string, () => unknown>)[method]?.()
  return reconciled(answer, { execution: job.claimed.execution, by: method, encode: value => encodeOutput(job, value) })
}

/** A node by the name in its row, which may be a former one, or that of an item. */
export function nodeOf({ graph, nodes, nodeIndex }: WorkflowDefinition, name: string): NodeDefinition | undefined {
  const id = currentName(graph, name)
  return nodes[nodeIndex.get(graph.eachOf(id)?.id ?? id) ?? -1]
}

/** Told by the name, which is a former one where the node was renamed. */
export function isItemOf({ graph }: WorkflowDefinition, name: string): boolean {
  return graph.eachOf(currentName(graph, name)) !== null
}

async function itemsOf(job: StepJob, { items }: EachSettings, workflow: AnyWorkflow): Promise<string[]> {
  const { execution } = job.claimed
  const methods = workflow as unknown as Record<string, () => unknown>
  const given = await (typeof items === 'function' ? items(workflow) : methods[items]?.())
  if (!Array.isArray(given)) {
    throw new InvalidArgumentError(
      `The items of ${execution.node} of workflow ${execution.workflowId} must be an array.`,
    )
  }
  if (given.length > maxItems) {
    throw new InvalidArgumentError(
      `${execution.node} of workflow ${execution.workflowId} has ${given.length} items, more than ${maxItems}. Use a resumable step, or several workflows.`,
    )
  }
  return given.map(
    (item, index) =>
      encodeValue(item, {
        what: `Item ${index} of ${execution.nodeName ?? execution.node} of workflow ${execution.workflowId}`,
        maxBytes: job.maxOutputBytes,
      }) ?? 'null',
  )
}

function runChildOf(job: StepJob, { workflowClass, start, timeoutMs }: ChildSettings, workflow: AnyWorkflow) {
  const { node, nodeName } = job.claimed.execution
  return runChild(job, { name: nodeName ?? node, workflow: workflowClass, start: () => start(workflow), timeoutMs })
}

/** A resumable step is asked once: what has begun goes on. After a crash before any checkpoint nobody knows that it has. */
export function hasBegun({ progress, crashes }: ActiveExecution): boolean {
  return progress.runs > 1 && (crashes === 0 || progress.cursor !== null)
}

function whyCanceled(test: Test): string {
  return typeof test === 'string' ? `cancelIf ${test} was true` : 'a cancelIf condition was true'
}

function encodeOutput(job: StepJob, output: unknown): string | null {
  const { execution } = job.claimed
  return encodeValue(output, {
    what: `The output of step ${execution.nodeName ?? execution.node} of workflow ${execution.workflowId}`,
    maxBytes: job.maxOutputBytes,
  })
}

/** The newest code says what becomes of a step that it has lost. Older code that never had it has no say. */
function missingStep({ claimed, definition, graph }: StepJob): StepOutcome {
  const { node } = claimed.execution
  const error = new StepMissingError(claimed.workflow.id, definition.type, node)
  const action = isSkippedWhenLost(graph, currentName(graph, node)) ? 'skip' : 'pause'
  return {
    report: {
      kind: 'threw',
      error: describeError(error),
      policy: { action, waitMs: 0, limit: null, then: 'pause' },
      retryMs: null,
    },
    errors: [error],
  }
}
