/**
 * Graphs that are stored with workflows, as people handle them: taken out, put back repaired, or made from a class. What
 * has started stays in every one of them.
 */
import { type FrozenGraph, freezeClassGraph, graphOfFrozen } from '../definition/frozen-graph.ts'
import type { Graph, GraphNode } from '../definition/graph.ts'
import { InvalidGraphError, InvalidStateError } from '../errors.ts'
import type { ChangeDraft, Request } from './change-draft.ts'
import { goOnFromOvertaken } from './dead-letters.ts'
import type { Engine } from './engine.ts'
import { heal } from './heal.ts'
import { currentName, type Plan } from './plan.ts'
import { storedForm } from './stored-form.ts'

const isOver = 'It is ending or has ended.'

/** The stored graph; for a workflow that follows its class, what that says now. */
export async function exportDag(engine: Engine, id: string): Promise<FrozenGraph> {
  const workflow = await engine.find(id)
  const { frozen, graph } = await engine.courses.one(workflow)
  return frozen ?? freezeClassGraph(graph, await timeNow(engine))
}

/**
 * Takes the place of the graph that a workflow goes by which is paused or waits for its dead letters. What falls due by that is
 * held with the rest, until it is resumed or requeued.
 */
export async function replaceGraph(engine: Engine, id: string, frozen: FrozenGraph, request: Request): Promise<void> {
  await engine.changeCourse(id, (draft, plan) => {
    const { workflow } = draft.facts
    if (workflow.frozen === null) {
      throw new InvalidStateError(
        id,
        workflow.state,
        'replace the graph of',
        'It goes by its class. `freeze` it first.',
      )
    }
    if (!draft.isHeld) {
      const remedy = draft.state === 'ready' ? 'Pause it first.' : isOver
      throw new InvalidStateError(id, workflow.state, 'replace the graph of', remedy)
    }
    const graph = parsed(frozen, workflow.type)
    refuseLoss(draft, plan, graph)
    draft.freeze(storedForm(frozen))
    draft.note('workflow.graph_replaced', { ...request })
    const { previous, former } = plan
    const { renamed } = graph
    const handlerOf = (node: GraphNode) => plan.handlerOf(node)
    const takeId = () => plan.takeId()
    const next = { graph, generation: 0, heals: true, previous, former, renamed, handlerOf, takeId }
    heal(draft, next)
    goOnFromOvertaken(draft, next)
  })
}

/**
 * Every node of the graph so far that has a row, or had one, is part of the workflow's history. What that graph does not have either
 * was taken away by the class while the workflow went by it.
 */
function refuseLoss(draft: ChangeDraft, plan: Plan, graph: Graph): void {
  const begun = [...draft.rows().map(row => row.node), ...draft.endedNodes()]
  const lost = begun.filter(node => graph.find(currentName(graph, node)) === null).map(node => currentName(plan, node))
  const missed = new Set(lost.filter(node => plan.graph.find(node) !== null))
  if (missed.size === 0) return
  throw new InvalidGraphError(
    `Workflow ${draft.workflowId}: the nodes ${[...missed].slice(0, 10).join(', ')} have started, so the graph must keep them under their ids.`,
  )
}

export async function freezeWorkflow(engine: Engine, id: string, request: Request): Promise<FrozenGraph> {
  const frozenAt = await timeNow(engine)
  let result: FrozenGraph | null = null
  await engine.changeCourse(id, (draft, plan) => {
    const { workflow } = draft.facts
    if (workflow.frozen !== null) {
      throw new InvalidStateError(id, workflow.state, 'freeze', 'It has a graph of its own already.')
    }
    if (draft.state !== 'ready' && !draft.isHeld) throw new InvalidStateError(id, workflow.state, 'freeze', isOver)
    // The class may have changed since the workflow was last touched: what is frozen is what it goes by from now on.
    if (plan.heals) heal(draft, plan)
    goOnFromOvertaken(draft, plan)
    result = freezeClassGraph(plan.graph, frozenAt)
    draft.freeze(storedForm(result))
    draft.note('workflow.frozen', { ...request })
  })
  return result ?? exportDag(engine, id)
}

function parsed(frozen: FrozenGraph, type: string): Graph {
  return graphOfFrozen(frozen, { type, queue: 'default', priority: 0, jobOptions: () => null })
}

async function timeNow(engine: Engine): Promise<string> {
  return new Date(Math.floor((await engine.store.nearlyNow()) / 1000)).toISOString()
}
