/**
 * Runs the code of one step and says what it came to. Order: hero, `cancelIf`, `if` / `skipIf`, hooks, body, hooks.
 * Nothing is written here, and nothing that user code throws gets out.
 */
import { evaluateTest } from '../definition/evaluate-test.ts'
import type { FlowControl } from '../definition/flow-control.ts'
import { instantiate } from '../definition/instantiate.ts'
import { resolvePolicy } from '../definition/resolve-policy.ts'
import type { AnyWorkflow } from '../definition/workflow.ts'
import type { EachSettings, NodeDefinition, Test, WorkflowDefinition } from '../definition/workflow-definition.ts'
import { InvalidArgumentError, StepMissingError } from '../errors.ts'
import { combineErrors, describeError } from '../primitives/describe-error.ts'
import { failpoint } from '../primitives/failpoint.ts'
import { decodeValue, encodeValue } from '../primitives/json-codec.ts'
import type { ActiveExecution, ClaimedExecution, Progress } from '../store/records.ts'
import { IterationCore } from './iteration/iteration-core.ts'
import type { IterationHost } from './iteration/iteration-host.ts'
import { StepIteration } from './iteration/step-iteration.ts'
import { isHeroGone, loadHero } from './load-hero.ts'
import { type OutputReader, stepContext } from './make-context.ts'
import { currentName } from './plan.ts'
import { runBody } from './run-body.ts'
import type { StepReport } from './step-report.ts'

/** More would be one transaction of that size. */
const maxItems = 100_000

export interface StepJob {
  readonly claimed: ClaimedExecution
  readonly definition: WorkflowDefinition
  readonly signal: AbortSignal
  readonly maxOutputBytes: number
  readonly readOutput: OutputReader
  /** What resumable steps need of the worker. */
  readonly host: IterationHost
  /** Asked right before hooks and body are called: whether the claim still holds, where that can be told at once. */
  mayBegin(): boolean | Promise<boolean>
}

export interface StepRun {
  /** `null` when hooks and body were not called, because the step may not begin any more. */
  readonly report: StepReport | null
  /** What user code threw, for `onError`, once the report is recorded. */
  readonly errors: readonly unknown[]
  /** How far a resumable step has come; `null` for any other. */
  readonly progress: Progress | null
}

export async function executeStep(job: StepJob): Promise<StepRun> {
  const { definition, claimed, host } = job
  const node = nodeOf(definition, claimed.execution.node)
  if (node === undefined) return { ...missingStep(job), progress: null }
  let context: ReturnType<typeof stepContext>
  try {
    context = stepContext(job)
  } catch (unreadable) {
    return { ...(await failed(definition, node, unreadable)), progress: null }
  }
  const core = node.resumable === null ? null : new IterationCore({ host, settings: node.resumable, context })
  const outcome = await runToOutcome({ job, node, context, core })
  return { ...outcome, progress: core === null ? null : await core.end() }
}

interface Attempt {
  readonly job: StepJob
  readonly node: NodeDefinition
  readonly context: ReturnType<typeof stepContext>
  /** Set exactly for resumable steps. */
  readonly core: IterationCore | null
}

type StepOutcome = Omit<StepRun, 'progress'>

async function runToOutcome(attempt: Attempt): Promise<StepOutcome> {
  const { node, context } = attempt
  const { definition } = attempt.job
  try {
    const report = await runPhases(attempt)
    return { report: context.flowControl ? steered(attempt, context.flowControl) : report, errors: [] }
  } catch (thrown) {
    if (context.flowControl === null) return failed(definition, node, thrown)
    try {
      return { report: steered(attempt, context.flowControl), errors: [] }
    } catch (unstorable) {
      return failed(definition, node, unstorable)
    }
  }
}

async function runPhases({ job, node, context, core }: Attempt): Promise<StepReport | null> {
  const { definition, claimed } = job
  const isItem = node.each !== null && isItemOf(definition, claimed.execution.node)
  context.loaded = await loadHero(definition, claimed.workflow)
  if (isHeroGone(context.loaded) && !definition.mayOutliveHero) {
    return { kind: 'cancel', by: 'condition', reason: 'the hero is gone' }
  }
  const workflow = instantiate(definition, context)
  for (const test of definition.cancelIf) {
    if (await evaluateTest(test, workflow)) return { kind: 'cancel', by: 'condition', reason: whyCanceled(test) }
  }
  // Whether an item runs was asked when its node was reached.
  const asked = !isItem && (core === null || !hasBegun(claimed.execution))
  if (asked && node.condition && (await evaluateTest(node.condition.test, workflow)) !== node.condition.runsWhen) {
    return { kind: 'skip', by: 'condition', reason: null }
  }
  // Waits only where it must: once the answer is there, nothing may come between it and the call.
  const answer = job.mayBegin()
  if (!(typeof answer === 'boolean' ? answer : await answer)) return null
  if (node.each !== null && !isItem) return { kind: 'items', items: await itemsOf(job, node.each, workflow) }
  failpoint?.('step.before')
  core?.begins()
  const argument = isItem
    ? decodeValue(claimed.execution.input)
    : core === null
      ? undefined
      : StepIteration.outermost(core)
  const output = await runBody({ definition, node, workflow, attempt: claimed.execution.attempt, argument })
  failpoint?.('step.after')
  return { kind: 'completed', output: context.flowControl ? null : encodeOutput(job, output) }
}

/** A node by the name in its row, which may be a former one, or that of an item. */
function nodeOf({ graph, nodes, nodeIndex }: WorkflowDefinition, name: string): NodeDefinition | undefined {
  const id = currentName({ renamed: graph.renamed }, name)
  return nodes[nodeIndex.get(graph.eachOf(id)?.id ?? id) ?? -1]
}

/** Told by the name, which is a former one where the node was renamed. */
function isItemOf({ graph }: WorkflowDefinition, name: string): boolean {
  return graph.eachOf(currentName({ renamed: graph.renamed }, name)) !== null
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
        what: `Item ${index} of ${execution.node} of workflow ${execution.workflowId}`,
        maxBytes: job.maxOutputBytes,
      }) ?? 'null',
  )
}

/** A resumable step is asked once: what has begun goes on. After a crash before any checkpoint nobody knows that it has. */
function hasBegun({ progress, crashes }: ActiveExecution): boolean {
  return progress.runs > 1 && (crashes === 0 || progress.cursor !== null)
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

function steered({ job, core }: Attempt, flow: FlowControl): StepReport {
  const { reason } = flow
  switch (flow.action) {
    case 'cancel':
      return { kind: 'cancel', by: 'flow_control', reason }
    case 'skip':
      return { kind: 'skip', by: 'flow_control', reason }
    case 'pause':
      return { kind: 'pause', hold: core !== null, reason }
    case 'suspend':
      return { kind: 'suspend', waitMs: flow.waitMs, reason }
    case 'reattempt':
      return { kind: 'reattempt', waitMs: flow.waitMs, rewind: flow.rewind, reason }
    case 'finish':
      return { kind: 'finish', output: encodeOutput(job, flow.result), reason }
  }
}

async function failed(definition: WorkflowDefinition, node: NodeDefinition, thrown: unknown): Promise<StepOutcome> {
  const { policy, ruleError } = await resolvePolicy(definition, node, thrown)
  const error = describeError(thrown)
  if (ruleError === null) return { report: { kind: 'threw', error, policy, retryMs: null }, errors: [thrown] }
  const both = combineErrors(error, describeError(ruleError.thrown), 'and then its onException threw')
  return { report: { kind: 'threw', error: both, policy, retryMs: null }, errors: [thrown, ruleError.thrown] }
}

function missingStep({ claimed, definition }: StepJob): StepOutcome {
  const error = new StepMissingError(claimed.workflow.id, definition.type, claimed.execution.node)
  return {
    report: {
      kind: 'threw',
      error: describeError(error),
      policy: { action: 'pause', waitMs: 0, limit: null, then: 'pause' },
      retryMs: null,
    },
    errors: [error],
  }
}
