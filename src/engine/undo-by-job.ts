/**
 * Runs the job that undoes a node of a stored graph, and says what it came to. It gets the arguments of the node, and what
 * the node returned. Nothing is written here.
 */
import { pausePolicy } from '../definition/exception-policy.ts'
import type { FrozenCompensation } from '../definition/frozen-flow.ts'
import type { FrozenNode } from '../definition/frozen-graph.ts'
import { type Job, validateArgs } from '../definition/job.ts'
import { JobRun } from '../definition/job-run.ts'
import { fillArgs } from '../definition/node-args.ts'
import { normalizeRetry } from '../definition/retry-policy.ts'
import { isGenevaError } from '../errors.ts'
import { failpoint } from '../primitives/failpoint.ts'
import { decodeValue } from '../primitives/json-codec.ts'
import { outputOf } from './ask-stored.ts'
import { asCompensation, compensationFor, defaultRetry, type UndoneExecution } from './execute-compensation.ts'
import { type JobExecution, jobNode, missingJob, refuseIteration } from './execute-job.ts'
import { type StepRun, timeoutFor } from './execute-step.ts'
import { stepContext } from './make-context.ts'
import { failed, outcomeOf } from './step-outcome.ts'
import type { StepReport } from './step-report.ts'
import { givenIn, undoneBy } from './stored-input.ts'

export interface UndoExecution extends JobExecution {
  /** `null` when it is gone. */
  readUndone(executionId: string): Promise<UndoneExecution | null>
}

export async function undoByJob(execution: UndoExecution): Promise<StepRun> {
  const { claimed, frozen, job } = execution
  const node = frozen.nodes[claimed.execution.node]
  const compensation = node?.compensation
  if (job === null || node === undefined || compensation === undefined) return missingJob(execution, node)
  const { idempotent = true, timeout_ms: ownTimeout } = compensation
  const timeoutMs = ownTimeout ?? job.timeoutMs
  const undoes = undoneBy(claimed.execution.input)
  const context = stepContext(execution, { mayOutliveHero: true, undoes })
  const rules = {
    context,
    isResumable: false,
    encode: () => null,
    retry: retryOfUndo(compensation, job),
    failures: claimed.execution.failures,
    timeout: timeoutMs === null ? null : timeoutFor(execution, timeoutMs),
    policyFor: async () => ({ policy: pausePolicy, ruleError: null }),
    ...(job.transactional ? { stop: execution.signal } : {}),
  }
  const outcome = await outcomeOf(rules, () => call(execution, { job, node, context }))
  const emitted = context.end()
  const report = asCompensation({ idempotent }, outcome.report)
  return { ...outcome, report, emitted, progress: null, failedWith: error => failed(rules, error) }
}

interface Undoing {
  readonly job: Job
  readonly node: FrozenNode
  readonly context: ReturnType<typeof stepContext>
}

async function call(execution: UndoExecution, { job, node, context }: Undoing): Promise<StepReport | null> {
  const { claimed } = execution
  refuseIteration(job, `node ${node.name} is undone by it in one go`)
  const undone = await execution.readUndone(undoneBy(claimed.execution.input))
  const given = await argsOf(execution, node, undone)
  if (given === null) return { kind: 'skip', by: 'condition', reason: 'its arguments were never there' }
  const args = await validateArgs(job, given, node.name)
  const answer = execution.mayBegin()
  if (!(typeof answer === 'boolean' ? answer : await answer)) return null
  if (job.transactional) context.transaction = await execution.transaction.begin()
  failpoint?.('compensation.before')
  const undo = { ...compensationFor(claimed, undone, context, { isItem: false }), node: node.name }
  const run = async () => job.body(args, new JobRun(context, jobNode(claimed, node), Object.freeze(undo)))
  await (job.transactional ? execution.transaction.inside(run) : run())
  failpoint?.('compensation.after')
  return { kind: 'completed', output: null }
}

/** Those that the node was called with. `null`: there were none, because what they refer to has no output. */
async function argsOf(execution: UndoExecution, node: FrozenNode, undone: UndoneExecution | null): Promise<unknown> {
  const given = givenIn(undone?.input ?? null)
  if (given !== null) return decodeValue(given) ?? {}
  try {
    return await fillArgs(node.args, id => outputOf(execution, id))
  } catch (error) {
    // The node has failed for want of them, and its job was never called.
    if (isGenevaError(error, 'OUTPUT_MISSING')) return null
    throw error
  }
}

/** One that must not be called twice is not. */
export function retryOfUndo({ retry, idempotent = true }: FrozenCompensation, job: Job) {
  if (!idempotent) return null
  const notation = retry ?? job.retry
  return notation === null ? defaultRetry : normalizeRetry(notation, `job ${job.name}`)
}
