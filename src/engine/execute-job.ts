/**
 * Runs a job for a node of a stored graph and says what it came to. Order: arguments with the outputs they refer to, their
 * schema, body; before all that, its `if` or `skipIf`. Nothing is written here, and nothing that user code throws gets out.
 */
import { normalizePolicy, pausePolicy } from '../definition/exception-policy.ts'
import { type FrozenGraph, type FrozenNode, readMetadata } from '../definition/frozen-graph.ts'
import { type Job, validateArgs } from '../definition/job.ts'
import { JobRun } from '../definition/job-run.ts'
import { fillArgs } from '../definition/node-args.ts'
import { policyIn, type ResolvedPolicy } from '../definition/resolve-policy.ts'
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
import { failed, outcomeOf, type Timeout } from './step-outcome.ts'
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
  const context = stepContext(execution, { mayOutliveHero: true })
  const { resumable } = job
  const core = resumable && new IterationCore({ host: execution.host, settings: resumable, context })
  const rules = {
    context,
    isResumable: core !== null,
    encode: (value: unknown) =>
      encodeValue(value, {
        what: `The output of node ${node.name} of workflow ${claimed.workflow.id}`,
        maxBytes: execution.maxOutputBytes,
      }),
    retry: node.once === undefined ? retryOf(node, job) : null,
    failures: claimed.execution.failures,
    timeout: timeoutOf(execution, node, job, core),
    policyFor: (thrown: unknown) => policyOf(node, job, thrown),
    ...(job.transactional ? { stop: execution.signal } : {}),
  }
  const { encode } = rules
  const outcome = await outcomeOf(rules, () => runJob(execution, { job, node, context, core, encode }))
  const report = node.once === undefined ? outcome.report : calledOnce(outcome.report)
  const emitted = context.end()
  const progress = core === null ? null : await core.end()
  return { ...outcome, report, emitted, progress, failedWith: error => failed(rules, error) }
}

/** A node with what it takes to call its job. */
interface Call {
  readonly job: Job
  readonly node: FrozenNode
  readonly context: ReturnType<typeof stepContext>
  /** Set exactly for resumable jobs. */
  readonly core: IterationCore | null
  encode(value: unknown): string | null
}

async function runJob(execution: JobExecution, call: Call): Promise<StepReport | null> {
  const { claimed } = execution
  const { job, node, context, core, encode } = call
  if (node.once !== undefined) refuseIteration(job, `node ${node.name} calls it once`)
  const hasStarted = core !== null && hasBegun(claimed.execution)
  if (!hasStarted && (await isLeftOut(execution, node))) return { kind: 'skip', by: 'condition', reason: null }
  const given = givenIn(claimed.execution.input)
  const isFilled = node.args !== undefined && given === null
  const value = isFilled ? await fillArgs(node.args, id => outputOf(execution, id)) : (decodeValue(given) ?? {})
  const args = job.argsSchema === null ? value : await validateArgs(job, value, node.name)
  if (node.once?.job !== undefined && isReconciling(claimed.execution.input)) {
    const settled = await askWhetherItHappened(execution, call, args)
    if (settled !== null) return settled
  }
  const answer = execution.mayBegin()
  if (!(typeof answer === 'boolean' ? answer : await answer)) return null
  if (job.transactional) context.transaction = await execution.transaction.begin()
  failpoint?.('step.before')
  execution.beforeCall()
  core?.begins()
  const iteration = core === null ? undefined : StepIteration.outermost(core)
  const run = () => job.body(args, new JobRun(context, jobNode(claimed, node)), iteration)
  const output = await (job.transactional ? execution.transaction.inside(async () => run()) : run())
  failpoint?.('step.after')
  return { kind: 'completed', output: context.flowControl ? null : encode(output) }
}

/** The graph is checked when it is built; a job may have become resumable since. */
export function refuseIteration({ name, resumable }: Job, because: string): void {
  if (resumable === null) return
  throw new InvalidArgumentError(`Job ${name} is resumable, but ${because}. Give the node a job that is not.`)
}

/** `null`: it did not happen, so it is called now. */
async function askWhetherItHappened(execution: JobExecution, call: Call, args: unknown): Promise<StepReport | null> {
  const { claimed, reconcileJob } = execution
  const { node, context, encode } = call
  if (reconcileJob === null) throw missingReconcile(execution, node)
  refuseIteration(reconcileJob, `node ${node.name} calls it in one go`)
  const said = await reconcileJob.body(args, new JobRun(context, jobNode(claimed, node)))
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
