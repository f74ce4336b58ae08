/**
 * The fan-ins of the crash tests. Every parent writes itself into the journal and then stands at a barrier, so that all of
 * a wave end at the same instant. What surrounds a body is set by the process that runs it, and is nothing in a process
 * that only starts them.
 */
import { type BuiltGraph, defineJob, type Geneva, Workflow } from '../../../src/index.ts'
import type { Call } from './journal.ts'

export interface FanInSurroundings {
  /** Writes down that a body begins. */
  begin(call: Call): Promise<void>
  /** Waits until the parents of the wave are let go. */
  passBarrier(wave: number): Promise<void>
}

let around: FanInSurroundings = { begin: async () => {}, passBarrier: async () => {} }

export function surroundFanIns(surroundings: FanInSurroundings): void {
  around = surroundings
}

/** How many processes share the parents of each fan-in. */
export const shares = 3

/** The queue of every third parent, so that a process can be given its share of them. */
export function shareQueue(index: number): string {
  return `share-${index % shares}`
}

/** How a parent ends: by returning, by skipping itself, or in the second attempt, after it has thrown in the first. */
export type Manner = 'return' | 'skip' | 'retry'

/** A fan-in of a class, the smallest there is. */
export class Diamond extends Workflow<null, { wave: number }> {
  static {
    this.step('top')
    this.task('left', { dependsOn: 'top', queue: shareQueue(0) })
    this.task('right', { dependsOn: 'top', queue: shareQueue(1) })
    this.step('bottom', { dependsOn: ['left', 'right'] })
  }
  async top() {
    await this.#begin()
  }
  async left() {
    await this.#begin()
    await around.passBarrier(this.input.wave)
  }
  async right() {
    await this.#begin()
    await around.passBarrier(this.input.wave)
  }
  async bottom() {
    await this.#begin()
  }
  #begin(): Promise<void> {
    const { id: executionId, node: step, attempt } = this.execution
    return around.begin({ workflowId: this.id, executionId, step, attempt })
  }
}

const retry = { attempts: 2, backoff: 'fixed', delay: 1, jitter: false } as const

const parent = defineJob('parent', { retry }, async ({ wave, manner }: { wave: number; manner: Manner }, job) => {
  const { id: executionId, node: step, attempt } = job.execution
  await around.begin({ workflowId: job.workflowId, executionId, step, attempt })
  await around.passBarrier(wave)
  if (manner === 'skip') job.skip()
  if (manner === 'retry' && attempt === 1) throw new Error('It was asked to fail once.')
})

const join = defineJob('join', async (_: object, job) => {
  const { id: executionId, node: step, attempt } = job.execution
  await around.begin({ workflowId: job.workflowId, executionId, step, attempt })
})

export const fanInJobs = [parent, join] as const

/** What must have become of a workflow. */
export interface ExpectedFanIn {
  readonly workflowId: string
  /** By the node's id in the rows. */
  readonly nodes: ReadonlyMap<string, Manner>
  readonly fanIn: string
  readonly parents: readonly string[]
}

export async function startDiamonds(geneva: Geneva, count: number, wave: number): Promise<ExpectedFanIn[]> {
  const workflows = await geneva.startMany(
    Diamond,
    Array.from({ length: count }, () => ({ input: { wave } })),
  )
  const nodes = new Map(['top', 'left', 'right', 'bottom'].map(node => [node, 'return' as const]))
  return workflows.map(({ id }) => ({ workflowId: id, nodes, fanIn: 'bottom', parents: ['left', 'right'] }))
}

export interface WideOptions {
  readonly wave: number
  readonly width: number
  /** Some of the parents skip themselves, and some fail once. */
  readonly mixed: boolean
}

export async function startWide(geneva: Geneva, options: WideOptions): Promise<ExpectedFanIn> {
  const { wave, width, mixed } = options
  const graph = geneva.build(w => {
    const parents = Array.from({ length: width }, (_, index) =>
      w.node(`parent ${index}`, {
        job: parent,
        args: { wave, manner: mixed ? mannerOf(index) : 'return' },
        dependsOn: null,
        queue: shareQueue(index),
      }),
    )
    w.node('join', { job: join, dependsOn: parents })
  })
  const { id } = await geneva.startGraph(graph)
  return expectedOf(id, graph)
}

function mannerOf(index: number): Manner {
  if (index % 7 === 1) return 'skip'
  return index % 7 === 4 ? 'retry' : 'return'
}

function expectedOf(workflowId: string, graph: BuiltGraph): ExpectedFanIn {
  const nodes = Object.entries(graph.nodes)
  const manners = nodes.map(
    ([id, node]) => [id, (node.args as { manner?: Manner } | undefined)?.manner ?? 'return'] as const,
  )
  const isJoin = (id: string) => graph.nodes[id]?.job === join.name
  const ids = nodes.map(([id]) => id)
  return {
    workflowId,
    nodes: new Map(manners),
    fanIn: ids.find(isJoin) ?? '',
    parents: ids.filter(id => !isJoin(id)),
  }
}
