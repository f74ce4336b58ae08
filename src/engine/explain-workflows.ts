/**
 * Tells what workflows wait for, any number of them from one look at the database: for each node whether it may run and why
 * not, what that comes to for the workflow, and one sentence for people. Writes nothing.
 */
import type { GraphNode } from '../definition/graph.ts'
import { normalizeRetry } from '../definition/retry-policy.ts'
import { WorkflowNotFoundError } from '../errors.ts'
import { toDate } from '../primitives/to-date.ts'
import type { WorkflowStanding } from '../store/readiness-facts.ts'
import type { WorkflowState } from '../store/records.ts'
import type { Course } from './courses.ts'
import { isEnd } from './end-watch.ts'
import type { Engine } from './engine.ts'
import { retryOfCompensation } from './execute-compensation.ts'
import { nodeOf } from './execute-step.ts'
import { decideFinalizing, type FinalizingDecision, situationOf } from './finalizing.ts'
import { QueueHolds } from './queue-holds.ts'
import { type NodeReadiness, readinessOf } from './readiness.ts'
import { retryOfUndo } from './undo-by-job.ts'
import { waitingSentence } from './waiting-sentence.ts'
import { Workforce } from './workforce.ts'

export interface Explanation {
  readonly workflowId: string
  /** The stored name of the class. */
  readonly type: string
  readonly state: WorkflowState
  /** What it waits for. */
  readonly sentence: string
  /** What its nodes come to; `null` once it has ended. */
  readonly decision: FinalizingDecision | null
  /** In the order of the graph; of the items of an `each` node, those that are not done. */
  readonly nodes: readonly NodeReadiness[]
  /** The time of the database when it was looked at. */
  readonly at: Date
}

/** Throws `WorkflowNotFoundError`. */
export async function explainWorkflow(engine: Engine, id: string): Promise<Explanation> {
  const [found] = engine.store.isId(id) ? await explainWorkflows(engine, [id]) : []
  if (found !== undefined) return found
  // It may be there without its graph, which is another matter.
  await engine.courses.one(await engine.find(id))
  throw new WorkflowNotFoundError(id)
}

/** In the order of the ids; what does not exist is left out. */
export async function explainWorkflows(engine: Engine, ids: readonly string[]): Promise<Explanation[]> {
  const { now, workers, workflows, limits, holders } = await engine.store.readiness(ids)
  const classOf = (handler: string) => engine.courses.findDefinition(handler)?.type ?? null
  const holds = new QueueHolds({ now, limits, holders }, classOf)
  const courses = await engine.courses.of(workflows.map(({ workflow }) => workflow))
  const workforce = new Workforce(workers)
  const byId = new Map(workflows.map(standing => [standing.workflow.id, standing]))
  return [...new Set(ids)].flatMap(id => {
    const standing = byId.get(id)
    const course = courses.get(id)
    if (standing === undefined || course === undefined) return []
    const attemptsOf = (node: GraphNode, undoing: boolean) =>
      undoing ? undosAt(engine, course, node) : attemptsAt(engine, course, node)
    const nodes = readinessOf(standing, { graph: course.graph, now, workers: workforce, holds, attemptsOf })
    return explanationOf(standing, nodes, now)
  })
}

function explanationOf(standing: WorkflowStanding, nodes: readonly NodeReadiness[], now: number): Explanation {
  const { workflow } = standing
  const performing = workflow.state === 'ready' && nodes.some(node => node.state === 'in_progress')
  return {
    workflowId: workflow.id,
    type: workflow.type,
    state: performing ? 'performing' : workflow.state,
    sentence: waitingSentence(standing, nodes, now),
    decision: isEnd(workflow.state) ? null : decideFinalizing(situationOf(nodes)).decision,
    nodes,
    at: toDate(now),
  }
}

/** How often what undoes a node may be called. */
function undosAt(engine: Engine, { workflow, frozen }: Course, { id }: GraphNode): number | null | undefined {
  const stored = frozen?.nodes[id]?.compensation
  if (stored !== undefined) {
    const job = engine.jobs.find(stored.name)
    if (job !== null) return retryOfUndo(stored, job)?.attempts ?? null
  }
  const definition = engine.courses.findDefinition(workflow.type)
  const settings = definition === null ? null : nodeOf(definition, frozen?.nodes[id]?.method ?? id)?.compensation
  if (definition === null || settings === null || settings === undefined) return undefined
  return retryOfCompensation(definition, settings)?.attempts ?? null
}

/** How often a node may be called: what it says itself counts before its job, and that before its class. What is called once has no retry. */
function attemptsAt(engine: Engine, course: Course, { id, job, once }: GraphNode): number | null | undefined {
  const { workflow, frozen } = course
  if (once !== undefined) return null
  const owner = id.lastIndexOf('/') === -1 ? id : id.slice(0, id.lastIndexOf('/'))
  const stored = frozen?.nodes[owner]
  if (stored?.retry !== undefined) return normalizeRetry(stored.retry, `node ${stored.name}`).attempts
  if (frozen !== null && job !== undefined) {
    const known = engine.jobs.find(job)
    if (known === null) return undefined
    return known.retry === null ? null : normalizeRetry(known.retry, `job ${job}`).attempts
  }
  const definition = engine.courses.findDefinition(workflow.type)
  const index = definition?.nodeIndex.get(stored?.method ?? owner)
  const node = index === undefined ? undefined : definition?.nodes[index]
  if (definition === null || node === undefined) return undefined
  return (node.retry ?? definition.retry)?.attempts ?? null
}
