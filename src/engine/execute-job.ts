/**
 * Runs a job for a node of a stored graph and says what it came to. Order: arguments with the outputs they refer to, their
 * schema, body; before all that, its `if` or `skipIf`. Nothing is written here, and nothing that user code throws gets out.
 */
import { normalizePolicy, pausePolicy } from '../definition/exception-policy.ts'
import { testOf } from '../definition/frozen-flow.ts'
import { type FrozenGraph, type FrozenNode, readMetadata } from '../definition/frozen-graph.ts'
import { type Job, validateArgs } from '../definition/job.ts'
import { JobRun } from '../definition/job-run.ts'
import { fillArgs } from '../definition/node-args.ts'
import { policyIn, type ResolvedPolicy } from '../definition/resolve-policy.ts'
import type { RetryPolicy } from '../definition/retry-notation.ts'
import { normalizeRetry } from '../definition/retry-policy.ts'
import { InvalidArgumentError, MissingJobError } from '../errors.ts'
import { describeError } from '../primitives/describe-error.ts'
import { failpoint } from '../primitives/failpoint.ts'
import { decodeValue, encodeValue } from '../primitives/json-codec.ts'
import type { ClaimedExecution } from '../store/records.ts'
import { type Asking, isLeftOut, outputOf } from './ask-stored.ts'
import { calledOnce, reconciled } from './called-once.ts'
import { hasBegun, type StepRun, timeoutFor } from './execute-step.ts'
import { IterationCore } from './iteration/iteration-core.ts'
import type { IterationHost } from './iteration/iteration-host.ts'
import { StepIteration } from './iteration/step-iteration.ts'
import { type ContextSource, stepContext } from './make-context.ts'
import { failed, type OutcomeRules, outcomeOf, type Timeout } from './step-outcome.ts'
import type { StepReport } from './step-report.ts'
import type { CallTransaction } from './step-transaction.ts'
import { givenIn, isReconciling } from './stored-input.ts'

export interface JobExecution extends ContextSource, Asking {
  readonly frozen: FrozenGraph
  /** `null` when this process does not have it, and nobody else does. */
  readonly job: Job | null
  /** Tells whether a lost call of the job happened; `null`: the node has none, or this process does not. */
  readonly reconcileJob: Job | null
  readonly maxOutputBytes: number
  /** What resumable jobs need of the worker. */
  readonly host: IterationHost
  /** For a job whose code runs in one. */
  readonly transaction: CallTransaction
  mayBegin(): boolean | Promise<boolean>
  timeOut(): void
  /** Comes right before the body; what it throws counts as thrown by it. */
  beforeCall(): void
}

export async function executeJob(execution: JobExecution): Promise<StepRun> {
  const { claimed, frozen, job } = execution
  const node = frozen.nodes[claimed.execution.node]
  if (job === null || node === undefined) return missingJob(execution, node)
  let context: Context
  try {
    context = stepContext(execution, { mayOutliveHero: true })
  } catch (unreadable) {
    return { ...(await failed(new JobPolicies(execution, job, node), unreadable)), progress: null }
  }
  const { resumable } = job
  const { name } = node
  const core = resumable && new IterationCore({ name, host: execution.host, settings: resumable, context })
  const attempt = new JobAttempt(execution, { job, node }, context, core)
  const outcome = await outcomeOf(attempt, runJob)
  const report = node.once === undefined ? outcome.report : calledOnce(outcome.report)
  const emitted = context.end()
  const progress = core === null ? null : await core.end()
  const run = { report, errors: outcome.errors, emitted, progress }
  return job.transactional ? { ...run, failedWith: error => failed(attempt, error) } : run
}

type Context = ReturnType<typeof stepContext>

/** What comes of an attempt that has failed. */
class JobPolicies {
  readonly execution: JobExecution
  readonly job: Job
  readonly node: FrozenNode

  constructor(execution: JobExecution, job: Job, node: FrozenNode) {
    this.execution = execution
    this.job = job
    this.node = node
  }

  get retry(): RetryPolicy | null {
    return this.node.once === undefined ? retryOf(this.node, this.job) : null
  }

  get failures(): number {
    return this.execution.claimed.execution.failures
  }

  policyFor(thrown: unknown): Promise<ResolvedPolicy> {
    return policyOf(this.node, this.job, thrown)
  }
}

/** One call of a job for a node. A class for the same reason as that of steps: a wide graph comes through here for each of its nodes. */
class JobAttempt extends JobPolicies implements OutcomeRules {
  readonly context: Context
  /** Set exactly for resumable jobs. */
  readonly core: IterationCore | null

  constructor(
    execution: JobExecution,
    { job, node }: { readonly job: Job; readonly node: FrozenNode },
    context: Context,
    core: IterationCore | null,
  ) {
    super(execution, job, node)
    this.context = context
    this.core = core
  }

  get isResumable(): boolean {
    return this.core !== null
  }

  get timeout(): Timeout | null {
    return timeoutOf(this.execution, this.node, this.job, this.core)
  }

  get stop(): AbortSignal | null {
    return this.job.transactional ? this.execution.signal : null
  }

  encode(value: unknown): string | null {
    const { claimed, maxOutputBytes } = this.execution
    const what = `The output of node ${this.node.name} of workflow ${claimed.workflow.id}`
    return encodeValue(value, { what, maxBytes: maxOutputBytes })
  }
}

async function runJob(attempt: JobAttempt): Promise<StepReport | null> {
  const { execution, job, node, context, core } = attempt
  const { claimed } = execution
  if (node.once !== undefined) refuseIteration(job, `node ${node.name} calls it once`)
  const hasStarted = core !== null && hasBegun(claimed.execution)
  const isAsked = !hasStarted && testOf(node) !== null
  if (isAsked && (await isLeftOut(execution, node))) return { kind: 'skip', by: 'condition', reason: null }
  const given = givenIn(claimed.execution.input)
  const isFilled = node.args !== undefined && given === null
  const value = isFilled ? await fillArgs(node.args, id => outputOf(execution, id)) : (decodeValue(given) ?? {})
  const args = job.argsSchema === null ? value : await validateArgs(job, value, node.name)
  if (node.once?.job !== undefined && isReconciling(claimed.execution.input)) {
    const settled = await askWhetherItHappened(attempt, args)
    if (settled !== null) return settled
  }
  const answer = execution.mayBegin()
  if (!(typeof answer === 'boolean' ? answer : await answer)) return null
  if (job.transactional) context.transaction = await execution.transaction.begin()
  failpoint?.('step.before')
  execution.beforeCall()
  core?.checkLimit()
  core?.begins()
  const iteration = core === null ? undefined : StepIteration.outermost(core)
  const run = new JobRun(context, jobNode(claimed, node))
  const output = await (job.transactional
    ? execution.transaction.inside(async () => job.body(args, run, iteration))
    : job.body(args, run, iteration))
  failpoint?.('step.after')
  return { kind: 'completed', output: context.flowControl ? null : attempt.encode(output) }
}

/** The graph is checked when it is built; a job may have become resumable since. */
export function refuseIteration({ name, resumable }: Job, because: string): void {
  if (resumable === null) return
  throw new InvalidArgumentError(`Job ${name} is resumable, but ${because}. Give the node a job that is not.`)
}

/** `null`: it did not happen, so it is called now. */
async function askWhetherItHappened(attempt: JobAttempt, args: unknown): Promise<StepReport | null> {
  const { execution, node, context } = attempt
  const { claimed, reconcileJob } = execution
  if (reconcileJob === null) throw missingReconcile(execution, node)
  refuseIteration(reconcileJob, `node ${node.name} calls it in one go`)
  const said = await reconcileJob.body(args, new JobRun(context, jobNode(claimed, node)))
  const encode = (value: unknown) => attempt.encode(value)
  return reconciled(said, { execution: claimed.execution, by: reconcileJob.name, encode })
}

/** Its own code is here, but not the code that knows whether the lost call happened: a person has to. */
function missingReconcile({ claimed, frozen }: JobExecution, node: FrozenNode): MissingJobError {
  return new MissingJobError(claimed.workflow.id, node.once?.job ?? '', {
    node: node.name,
    nodeId: claimed.execution.node,
    frozenAt: frozen.frozen_at,
  })
}

export function jobNode({ execution }: ClaimedExecution, { name, metadata }: FrozenNode) {
  return { id: execution.node, name, metadata: metadata === undefined ? {} : readMetadata(metadata) }
}

function timeoutOf(
  execution: JobExecution,
  { timeout_ms: own }: FrozenNode,
  { timeoutMs }: Job,
  core: IterationCore | null,
): Timeout | null {
  const ms = own ?? timeoutMs
  return ms === null ? null : timeoutFor(execution, ms, core)
}

function retryOf(node: FrozenNode, job: Job) {
  const notation = node.retry ?? job.retry
  return notation === null || notation === undefined ? null : normalizeRetry(notation, `job ${job.name}`)
}

/** The node's own policy first, then that of the job. */
async function policyOf(node: FrozenNode, job: Job, thrown: unknown): Promise<ResolvedPolicy> {
  const where = `job ${job.name}, node ${node.name}`
  if (node.on_exception !== undefined) return { policy: normalizePolicy(node.on_exception, where), ruleError: null }
  return policyIn(job.onException, thrown, where)
}

/** Claimed by a worker that does not have it either, because none has had it for a while. */
export function missingJob({ claimed, frozen }: JobExecution, node: FrozenNode | undefined): StepRun {
  const { workflow, execution } = claimed
  const job = execution.handler.replace(/^job:/, '')
  const error = new MissingJobError(workflow.id, job, {
    node: node?.name ?? execution.node,
    nodeId: execution.node,
    frozenAt: frozen.frozen_at,
    undoes: execution.kind === 'compensate',
  })
  const report = { kind: 'threw', error: describeError(error), policy: pausePolicy, retryMs: null } as const
  return { report, errors: [error], progress: null }
}
