/** When the workflow that another one goes on as is begun: by whoever finishes the old one. */
import type { Continuation, NewEvent, WorkflowChange, WorkflowFacts } from '../store/change.ts'
import type { StoredWorkflowState } from '../store/records.ts'
import { isEnd } from './end-watch.ts'

/** What a decision leaves behind. */
interface Decided {
  readonly facts: WorkflowFacts
  readonly state: StoredWorkflowState
}

/** One that ends otherwise than finished is not continued. `planned`: by this very decision. */
export function continuationIn(
  { facts, state }: Decided,
  planned: Continuation | null,
): WorkflowChange['continuation'] {
  const { continuation: stored } = facts.workflow
  const as = planned ?? (stored === null ? null : (JSON.parse(stored) as Continuation))
  if (as === null) return null
  if (!isEnd(state)) return planned === null ? null : { stage: 'planned', as }
  return state === 'finished' && !isEnd(facts.workflow.state) ? { stage: 'begun', as } : null
}

export function continuationEvents(workflowId: string, next: string): NewEvent[] {
  return [
    { workflowId, type: 'workflow.continued', by: null, reason: `as workflow ${next}` },
    { workflowId: next, type: 'workflow.started', to: 'ready', reason: `continues workflow ${workflowId}` },
  ]
}
