/**
 * Runs a node of a stored graph that has no code of the application: a condition is answered by its expression, a human or
 * signal node begins to wait or has waited in vain, and forks, joins and save points are done. Nothing is written here.
 */
import type { ConditionFacts } from '../definition/condition-facts.ts'
import { normalizePolicy, pausePolicy } from '../definition/exception-policy.ts'
import type { FrozenGraph, FrozenNode } from '../definition/frozen-graph.ts'
import type { Graph, GraphNode, NodeKind } from '../definition/graph.ts'
import { fillArgs } from '../definition/node-args.ts'
import { evaluateCondition, outputsIn } from '../definition/stored-condition.ts'
import { isGenevaError, NothingCameError, StepMissingError } from '../errors.ts'
import { describeSpan } from '../primitives/describe-span.ts'
import { decodeValue } from '../primitives/json-codec.ts'
import { outputOf } from './execute-job.ts'
import type { StepRun } from './execute-step.ts'
import type { ContextSource } from './make-context.ts'
import { failed } from './step-outcome.ts'
import type { StepReport } from './step-report.ts'
import { cameIn, givenIn } from './stored-input.ts'

export interface StoredExecution extends Pick<ContextSource, 'claimed' | 'readOutput'> {
  readonly frozen: FrozenGraph | null
  readonly graph: Graph
}

export async function executeStored(execution: StoredExecution): Promise<StepRun> {
  const { claimed, frozen, graph } = execution
  const { node: id, failures } = claimed.execution
  const node = graph.find(id)
  const stored = frozen?.nodes[id]
  try {
    if (node === null || stored === undefined)
      throw new StepMissingError(claimed.workflow.id, claimed.workflow.type, id)
    return { report: await reportOn(execution, node, stored), errors: [], progress: null }
  } catch (thrown) {
    const policyFor = async () => ({ policy: policyOf(stored, thrown), ruleError: null })
    return { ...(await failed({ retry: null, failures, policyFor }, thrown)), progress: null }
  }
}

async function reportOn(execution: StoredExecution, node: GraphNode, stored: FrozenNode): Promise<StepReport> {
  const { execution: row, workflow } = execution.claimed
  if (node.kind === 'human' || node.kind === 'signal') {
    // What has come has ended it already, so all that is left is that nothing came.
    if (cameIn(row.input) === null) return { kind: 'wait' }
    throw new NothingCameError(workflow.id, node.name, describeSpan(node.waitTimeoutMs ?? 0))
  }
  if (node.test === undefined) return { kind: 'completed', output: null }
  const result = evaluateCondition(node.test, await factsFor(execution, node, { test: node.test, args: stored.args }))
  return { kind: 'completed', output: String(result), result }
}

/** What follows when nothing came in time may be said apart. */
function policyOf(stored: FrozenNode | undefined, thrown: unknown) {
  const onTimeout = isGenevaError(thrown, 'NOTHING_CAME') ? stored?.on_timeout : undefined
  const notation = onTimeout ?? stored?.on_exception
  return notation === undefined ? pausePolicy : normalizePolicy(notation, `node ${stored?.name}`)
}

async function factsFor(
  execution: StoredExecution,
  node: GraphNode,
  { test, args }: { readonly test: string; readonly args: unknown },
): Promise<ConditionFacts> {
  const { claimed, graph } = execution
  const outputs: [string, unknown][] = []
  for (const name of outputsIn(test) ?? ancestorNames(graph, node)) {
    const found = await execution.readOutput(name)
    if (found !== null) outputs.push([name, found.value])
  }
  const given = givenIn(claimed.execution.input)
  return {
    outputs: Object.fromEntries(outputs),
    output: await outputBefore(execution, node),
    args: given === null ? await fillArgs(args, id => outputOf(execution, id)) : decodeValue(given),
    input: decodeValue(claimed.input),
    workflowId: claimed.workflow.id,
    node: node.name,
  }
}

/** They return nothing of their own, so what came before them is asked. */
const seenThrough: ReadonlySet<NodeKind> = new Set(['fork', 'savePoint', 'condition'])

/** What the single parent has returned. */
async function outputBefore(execution: StoredExecution, node: GraphNode): Promise<unknown> {
  const { graph } = execution
  let parent: GraphNode | null = onlyParent(graph, node)
  while (parent !== null && seenThrough.has(parent.kind)) parent = onlyParent(graph, parent)
  return parent === null ? undefined : (await execution.readOutput(parent.id))?.value
}

function onlyParent(graph: Graph, { dependsOn }: GraphNode): GraphNode | null {
  const [only] = dependsOn
  return only === undefined || dependsOn.length > 1 ? null : graph.find(only)
}

/** The text does not tell which outputs it needs: any that can be there. */
function ancestorNames(graph: Graph, node: GraphNode): Set<string> {
  const found = new Set<string>()
  const open = [...node.dependsOn]
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    const parent = graph.find(id)
    if (parent === null || found.has(parent.name)) continue
    found.add(parent.name)
    open.push(...parent.dependsOn)
  }
  return found
}
