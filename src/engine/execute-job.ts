/**
 * Runs a job for a node of a stored graph and says what it came to. Order: arguments with the outputs they refer to, their
 * schema, body. Nothing is written here, and nothing that user code throws gets out.
 */
import { normalizePolicy, pausePolicy } from '../definition/exception-policy.ts'
import { type FrozenGraph, type FrozenNode, readMetadata } from '../definition/frozen-graph.ts'
import { type Job, validateArgs } from '../definition/job.ts'
import { JobRun } from '../definition/job-run.ts'
import { fillArgs } from '../definition/node-args.ts'
import { policyIn, type ResolvedPolicy } from '../definition/resolve-policy.ts'
import { normalizeRetry } from '../definition/retry-policy.ts'
import { MissingJobError, OutputMissingError } from '../errors.ts'
import { describeError } from '../primitives/describe-error.ts'
import { failpoint } from '../primitives/failpoint.ts'
import { decodeValue, encodeValue } from '../primitives/json-codec.ts'
import type { ClaimedExecution } from '../store/records.ts'
import { type StepRun, timeoutFor } from './execute-step.ts'
import { type OutputReader, stepContext } from './make-context.ts'
import { outcomeOf } from './step-outcome.ts'

export interface JobExecution {
  readonly claimed: ClaimedExecution
  readonly frozen: FrozenGraph
  /** `null` when this process does not have it, and nobody else does. */
  readonly job: Job | null
  readonly signal: AbortSignal
  readonly maxOutputBytes: number
  /** By id, name or former name. */
  readonly readOutput: OutputReader
  mayBegin(): boolean | Promise<boolean>
  timeOut(): void
  /** Comes right before the body; what it throws counts as thrown by it. */
  beforeCall(): void
}

export async function executeJob(execution: JobExecution): Promise<StepRun> {
  const { claimed, frozen, job } = execution
  const node = frozen.nodes[claimed.execution.node]
  if (job === null || node === undefined) return missingJob(execution, node)
  const context = stepContext({ ...execution, mayOutliveHero: true, showsInput: true })
  const rules = {
    context,
    isResumable: false,
    encode: (value: unknown) =>
      encodeValue(value, {
        what: `The output of node ${node.name} of workflow ${claimed.workflow.id}`,
        maxBytes: execution.maxOutputBytes,
      }),
    retry: retryOf(node, job),
    failures: claimed.execution.failures,
    timeout: job.timeoutMs === null ? null : timeoutFor(execution, job.timeoutMs),
    policyFor: (thrown: unknown) => policyOf(node, job, thrown),
  }
  const outcome = await outcomeOf(rules, async () => {
    const { input } = claimed.execution
    const filled =
      input === null ? await fillArgs(node.args, id => outputOf(execution, id)) : (decodeValue(input) ?? {})
    const args = await validateArgs(job, filled, node.name)
    const answer = execution.mayBegin()
    if (!(typeof answer === 'boolean' ? answer : await answer)) return null
    failpoint?.('step.before')
    execution.beforeCall()
    const output = await job.body(args, new JobRun(context, jobNode(claimed, node)))
    failpoint?.('step.after')
    return { kind: 'completed', output: context.flowControl ? null : rules.encode(output) }
  })
  return { ...outcome, emitted: Object.freeze(context.emitted), progress: null }
}

async function outputOf({ claimed, readOutput }: JobExecution, id: string): Promise<unknown> {
  const found = await readOutput(id)
  if (found === null) throw new OutputMissingError(claimed.workflow.id, id, 'it was skipped or has not completed')
  return found.value
}

function jobNode({ execution }: ClaimedExecution, { name, metadata }: FrozenNode) {
  return { id: execution.node, name, metadata: metadata === undefined ? {} : readMetadata(metadata) }
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
function missingJob({ claimed, frozen }: JobExecution, node: FrozenNode | undefined): StepRun {
  const { workflow, execution } = claimed
  const job = node?.job ?? execution.handler.replace(/^job:/, '')
  const error = new MissingJobError(workflow.id, job, {
    node: node?.name ?? execution.node,
    nodeId: execution.node,
    frozenAt: frozen.frozen_at,
  })
  const report = { kind: 'threw', error: describeError(error), policy: pausePolicy, retryMs: null } as const
  return { report, errors: [error], progress: null }
}
