/** What `--json` shows of a workflow: the same documents as the HTTP API, made by the same views. */
import type { AttemptView, Explanation, Geneva, GraphView, WorkflowDetail } from '../index.ts'

export interface WorkflowDocument {
  readonly workflow: WorkflowDetail
  readonly graph: GraphView
  readonly history: readonly AttemptView[]
  readonly explanation: Explanation
}

const attemptsShown = 500

/** One workflow with all that `geneva show` looks at. Throws `WorkflowNotFoundError`. */
export async function documentOf(geneva: Geneva, id: string): Promise<WorkflowDocument> {
  const workflow = await geneva.views.workflow(id)
  const graph = await geneva.views.graph(id)
  const { items: history } = await geneva.views.history(id, { limit: attemptsShown })
  return { workflow, graph, history, explanation: await geneva.explain(id) }
}
