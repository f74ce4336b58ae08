/**
 * The code behind the nodes of a simulated graph: every call stops at a gate, tells that it is there, and does what it is
 * told when the gate opens. The same for a class and for a graph that is built at run time.
 */
import {
  type AnyWorkflow,
  type BuiltGraph,
  type ConcreteClass,
  defineJob,
  type Geneva,
  type Iteration,
  Workflow,
} from '../../src/index.ts'
import type { Act, SimulatedGraph, SimulatedNode } from './random-graph.ts'

/** One call that stands at its gate. */
export interface Call {
  readonly node: string
  readonly attempt: number
  /** Lets it go on, to do this. */
  open(act: Act): void
}

/** What a worker runs: at its gate, or on its way to the next one or to the end. */
export interface Visitor {
  entered(call: Call): void
}

/** Who runs the code, by the id of the execution. Asynchronous contexts would say it too, but slow every promise down. */
export const visitors = new Map<string, Visitor>()

/** What nodes throw, to be told from what is wrong. */
export class StagedError extends Error {
  override readonly name = 'StagedError'
}

interface Told {
  readonly id: string
  readonly node: string
  readonly attempt: number
}

/** Stops at the gate until somebody says what to do. */
export async function tell(execution: Told, name = execution.node): Promise<Act> {
  const visitor = visitors.get(execution.id)
  if (visitor === undefined) throw new Error(`${name} was called by nobody.`)
  return new Promise(open => visitor.entered({ node: name, attempt: execution.attempt, open }))
}

interface Steering {
  cancel(): never
  pause(): never
  skip(): never
  finish(result?: unknown): never
  reattempt(options?: { wait?: number }): never
}

const hourMs = 3_600_000

/** Does what it was told. */
export function perform(
  act: Act,
  steering: Steering,
  iteration?: Pick<Iteration<number>, 'suspend'>,
): void | Promise<void> {
  switch (act) {
    case 'succeed':
      return
    case 'skip':
      return steering.skip()
    case 'throw':
      throw new StagedError('staged')
    case 'reattempt':
      return steering.reattempt()
    case 'reattempt later':
      return steering.reattempt({ wait: hourMs })
    case 'suspend':
      return iteration?.suspend()
    case 'cancel':
      return steering.cancel()
    case 'finish':
      return steering.finish()
    case 'pause':
      return steering.pause()
  }
}

/** The queue of a node is its own, so that the simulation can choose what is claimed; those of a fan-out share one. */
export function queueOf({ name, fanOut }: SimulatedNode): string {
  return fanOut === null ? `queue ${name}` : `queue of fan-out ${fanOut}`
}

function optionsOf(node: SimulatedNode) {
  const { retry, policy, waits } = node
  const { action, limit, then } = policy
  return {
    queue: queueOf(node),
    ...(waits ? { wait: hourMs } : {}),
    ...(retry === null
      ? {}
      : {
          retry: {
            attempts: retry.attempts,
            backoff: 'fixed',
            delay: retry.later ? hourMs : 0,
            jitter: false,
          } as const,
        }),
    onException: action === 'reattempt' ? { policy: action, limit, then } : action,
  } as const
}

/** A class with these nodes, written in the shortest way that says what each depends on. */
export function classOf(graph: SimulatedGraph, type: string): ConcreteClass<AnyWorkflow> {
  class Simulated extends Workflow {
    static {
      this.named(type)
    }
  }
  let previous: string | null = null
  for (const node of graph.nodes) {
    Object.defineProperty(Simulated.prototype, node.name, { value: bodyOf(node), writable: true, configurable: true })
    previous = declare(Simulated as unknown as Verbs, node, previous)
  }
  return Simulated as unknown as ConcreteClass<AnyWorkflow>
}

/** The verbs, without the names that the compiler cannot know here. */
type Verbs = Record<'step' | 'task' | 'resumableStep' | 'each', (name: string, options: object) => unknown>

function bodyOf(node: SimulatedNode): (this: AnyWorkflow, argument: unknown) => Promise<unknown> {
  return async function (this: AnyWorkflow, argument: unknown) {
    const iteration = node.kind === 'resumable' ? (argument as Iteration<number>) : undefined
    await perform(foretold.get(this) ?? (await tell(this.execution)), this, iteration)
    return { attempt: this.execution.attempt }
  }
}

/** Gives back the member of the chain that the next step follows. */
function declare(verbs: Verbs, node: SimulatedNode, previous: string | null): string | null {
  const { name, kind, parents } = node
  const options = { ...optionsOf(node), ...(node.conditional ? { skipIf: skips } : {}), ...eachOptions(node) }
  const follows = previous === null ? parents.length === 0 : parents.includes(previous)
  const others = parents.filter(parent => parent !== previous)
  // Steps that stand apart are tasks, but only half of them: `dependsOn` may say the same of a step.
  if (kind !== 'each' && !follows && name.charCodeAt(0) % 2 === 0) {
    verbs.task(name, { ...options, dependsOn: parents, ...(kind === 'resumable' ? { resumable: true } : {}) })
    return previous
  }
  const verb = kind === 'each' ? 'each' : kind === 'resumable' ? 'resumableStep' : 'step'
  const position = !follows ? { dependsOn: parents } : others.length > 0 ? { alsoDependsOn: others } : {}
  verbs[verb](name, { ...options, ...position })
  return name
}

/** What the condition of a node has been told, for its body. By the run: the execution may be another worker's by then. */
const foretold = new WeakMap<AnyWorkflow, Act>()

/** The gate of a node with a condition stands in the condition. What it is told there, its body does. */
async function skips(workflow: AnyWorkflow): Promise<boolean> {
  const act = await tell(workflow.execution)
  foretold.set(workflow, act)
  return act === 'skip'
}

function eachOptions(node: SimulatedNode): object {
  if (node.kind !== 'each') return {}
  const items = async (workflow: AnyWorkflow) => {
    await perform(await tell(workflow.execution), workflow)
    // An item may look like anything, also like what the engine itself writes into such a row.
    return node.items.map((_, index) => ({ child: `${index}` }))
  }
  return { items, ...(node.concurrency === null ? {} : { concurrency: node.concurrency }) }
}

/** The one job behind all nodes of graphs that are built at run time. */
export const stagedJob = defineJob('staged', async (_args: { node: string }, job) => {
  await perform(await tell(job.execution, job.node.name), job)
  return { attempt: job.execution.attempt }
})

export function buildSimulated(geneva: Geneva, graph: SimulatedGraph): BuiltGraph {
  return geneva.build(w => {
    let previous: readonly string[] = []
    for (let index = 0; index < graph.nodes.length; ) {
      const first = graph.nodes[index]
      if (first === undefined) break
      const group = first.fanOut === null ? [first] : graph.nodes.filter(node => node.fanOut === first.fanOut)
      // What follows everything before it does not have to say so.
      const implied = first.parents.length > 0 && sameMembers(first.parents, previous)
      const settings = {
        ...optionsOf(first),
        ...(implied ? {} : { dependsOn: first.parents.length === 0 ? null : first.parents }),
      }
      if (first.fanOut === null) w.node(first.name, { job: stagedJob, args: { node: first.name }, ...settings })
      else
        w.fanOut(group, { name: node => node.name, job: stagedJob, args: node => ({ node: node.name }), ...settings })
      previous = group.map(node => node.name)
      index += group.length
    }
  })
}

function sameMembers(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every(member => b.includes(member))
}
