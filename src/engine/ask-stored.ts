/**
 * Expressions that are stored with a graph, asked when a node of it is about to run: what they can ask about, and whether
 * the node runs at all.
 */
import type { ConditionFacts } from '../definition/condition-facts.ts'
import { testOf } from '../definition/frozen-flow.ts'
import type { FrozenNode } from '../definition/frozen-graph.ts'
import type { Graph, GraphNode, NodeKind } from '../definition/graph.ts'
import { fillArgs } from '../definition/node-args.ts'
import { asksForArgs, evaluateCondition, outputsIn } from '../definition/stored-condition.ts'
import { OutputMissingError, StepMissingError } from '../errors.ts'
import { decodeValue } from '../primitives/json-codec.ts'
import type { ContextSource } from './make-context.ts'
import { givenIn } from './stored-input.ts'

/** A node that is about to run, and how what it needs is read. */
export interface Asking extends Pick<ContextSource, 'claimed' | 'readOutput'> {
  readonly graph: Graph
}

/** Whether the `if` or `skipIf` of a node keeps it from running. */
export async function isLeftOut(asking: Asking, stored: FrozenNode): Promise<boolean> {
  const test = testOf(stored)
  return test !== null && (await answerTo(asking, test.text, stored.args)) !== test.runsWhen
}

/** Throws where there is no answer. */
export async function answerTo(asking: Asking, text: string, args: unknown): Promise<boolean> {
  const { claimed, graph } = asking
  const node = graph.find(claimed.execution.node)
  if (node === null) throw new StepMissingError(claimed.workflow.id, claimed.workflow.type, claimed.execution.node)
  const outputs: [string, unknown][] = []
  for (const name of outputsIn(text) ?? ancestorNames(graph, node)) {
    const found = await asking.readOutput(name)
    if (found !== null) outputs.push([name, found.value])
  }
  const facts: ConditionFacts = {
    outputs: Object.fromEntries(outputs),
    output: await outputBefore(asking, node),
    args: await argsFor(asking, text, args),
    input: decodeValue(claimed.input),
    workflowId: claimed.workflow.id,
    node: node.name,
  }
  return evaluateCondition(text, facts)
}

/** They are left alone where nobody asks for them: what they refer to may not be there, which may be why it is asked. */
async function argsFor(asking: Asking, text: string, args: unknown): Promise<unknown> {
  const given = givenIn(asking.claimed.execution.input)
  if (given !== null) return decodeValue(given)
  return asksForArgs(text, args) ? fillArgs(args, id => outputOf(asking, id)) : {}
}

/** What an argument refers to. */
export async function outputOf(asking: Asking, id: string): Promise<unknown> {
  const found = await asking.readOutput(id)
  if (found !== null) return found.value
  const name = asking.graph.nameOf(id)
  const call = `\`job.output(${JSON.stringify(name)}, null)\``
  const remedy = `Ask for it in the job instead, with a fallback: ${call}`
  throw new OutputMissingError(asking.claimed.workflow.id, name, remedy)
}

/** They return nothing of their own, so what came before them is asked. */
const seenThrough: ReadonlySet<NodeKind> = new Set(['fork', 'savePoint', 'condition'])

/** What the single parent has returned. */
async function outputBefore(asking: Asking, node: GraphNode): Promise<unknown> {
  const { graph } = asking
  let parent: GraphNode | null = onlyParent(graph, node)
  while (parent !== null && seenThrough.has(parent.kind)) parent = onlyParent(graph, parent)
  return parent === null ? undefined : (await asking.readOutput(parent.id))?.value
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
