/**
 * Runs the code of one step and says what it came to. Order: hero, `cancelIf`, `if` / `skipIf`, hooks, body, hooks.
 * Nothing is written here, and nothing that user code throws gets out.
 */
import { evaluateTest } from '../definition/evaluate-test.ts'
import type { FlowControl } from '../definition/flow-control.ts'
import { instantiate } from '../definition/instantiate.ts'
import { resolvePolicy } from '../definition/resolve-policy.ts'
import type { NodeDefinition, Test, WorkflowDefinition } from '../definition/workflow-definition.ts'
import { StepMissingError } from '../errors.ts'
import { combineErrors, describeError } from '../primitives/describe-error.ts'
import { failpoint } from '../primitives/failpoint.ts'
import { encodeValue } from '../primitives/json-codec.ts'
import type { ClaimedExecution } from '../store/records.ts'
import { isHeroGone, loadHero } from './load-hero.ts'
import { type OutputReader, stepContext } from './make-context.ts'
import { runBody } from './run-body.ts'
import type { StepReport } from './step-report.ts'

export interface StepJob {
  readonly claimed: ClaimedExecution
  readonly definition: WorkflowDefinition
  readonly signal: AbortSignal
  readonly maxOutputBytes: number
  readonly readOutput: OutputReader
  /** Asked right before hooks and body are called: whether the claim still holds, where that can be told at once. */
  mayBegin(): boolean | Promise<boolean>
}

export interface StepRun {
  /** `null` when hooks and body were not called, because the step may not begin any more. */
  readonly report: StepReport | null
  /** What user code threw, for `onError`, once the report is recorded. */
  readonly errors: readonly unknown[]
}

export async function executeStep(job: StepJob): Promise<StepRun> {
  const { definition, claimed } = job
  const node = definition.nodes[definition.nodeIndex.get(claimed.execution.node) ?? -1]
  if (node === undefined) return missingStep(job)
  let context: ReturnType<typeof stepContext>
  try {
    context = stepContext(job)
  } catch (unreadable) {
    return failed(definition, node, unreadable)
  }
  try {
    const report = await runPhases(job, node, context)
    return { report: context.flowControl ? steered(job, context.flowControl) : report, errors: [] }
  } catch (thrown) {
    if (context.flowControl === null) return failed(definition, node, thrown)
    try {
      return { report: steered(job, context.flowControl), errors: [] }
    } catch (unstorable) {
      return failed(definition, node, unstorable)
    }
  }
}

async function runPhases(
  job: StepJob,
  node: NodeDefinition,
  context: ReturnType<typeof stepContext>,
): Promise<StepReport | null> {
  const { definition, claimed } = job
  context.loaded = await loadHero(definition, claimed.workflow)
  if (isHeroGone(context.loaded) && !definition.mayOutliveHero) {
    return { kind: 'cancel', by: 'condition', reason: 'the hero is gone' }
  }
  const workflow = instantiate(definition, context)
  for (const test of definition.cancelIf) {
    if (await evaluateTest(test, workflow)) return { kind: 'cancel', by: 'condition', reason: whyCanceled(test) }
  }
  if (node.condition && (await evaluateTest(node.condition.test, workflow)) !== node.condition.runsWhen) {
    return { kind: 'skip', by: 'condition', reason: null }
  }
  // Waits only where it must: once the answer is there, nothing may come between it and the call.
  const answer = job.mayBegin()
  if (!(typeof answer === 'boolean' ? answer : await answer)) return null
  failpoint?.('step.before')
  const output = await runBody({ definition, node, workflow, attempt: claimed.execution.attempt })
  failpoint?.('step.after')
  return { kind: 'completed', output: context.flowControl ? null : encodeOutput(job, output) }
}

function whyCanceled(test: Test): string {
  return typeof test === 'string' ? `cancelIf ${test} was true` : 'a cancelIf condition was true'
}

function encodeOutput(job: StepJob, output: unknown): string | null {
  const { execution } = job.claimed
  return encodeValue(output, {
    what: `The output of step ${execution.node} of workflow ${execution.workflowId}`,
    maxBytes: job.maxOutputBytes,
  })
}

function steered(job: StepJob, flow: FlowControl): StepReport {
  const { reason } = flow
  switch (flow.action) {
    case 'cancel':
      return { kind: 'cancel', by: 'flow_control', reason }
    case 'skip':
      return { kind: 'skip', by: 'flow_control', reason }
    case 'pause':
      return { kind: 'pause', reason }
    case 'reattempt':
      return { kind: 'reattempt', waitMs: flow.waitMs, reason }
    case 'finish':
      return { kind: 'finish', output: encodeOutput(job, flow.result), reason }
  }
}

async function failed(definition: WorkflowDefinition, node: NodeDefinition, thrown: unknown): Promise<StepRun> {
  const { policy, ruleError } = await resolvePolicy(definition, node, thrown)
  const error = describeError(thrown)
  if (ruleError === null) return { report: { kind: 'threw', error, policy }, errors: [thrown] }
  const both = combineErrors(error, describeError(ruleError.thrown), 'and then its onException threw')
  return { report: { kind: 'threw', error: both, policy }, errors: [thrown, ruleError.thrown] }
}

function missingStep({ claimed, definition }: StepJob): StepRun {
  const error = new StepMissingError(claimed.workflow.id, definition.type, claimed.execution.node)
  return {
    report: {
      kind: 'threw',
      error: describeError(error),
      policy: { action: 'pause', waitMs: 0, limit: null, then: 'pause' },
    },
    errors: [error],
  }
}
