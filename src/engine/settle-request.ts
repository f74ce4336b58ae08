/** Whether a request that cannot be carried out any more has been carried out already, by a try whose answer was lost. Pure. */
import type { WorkflowChange, WorkflowFacts } from '../store/change.ts'

/** `asked` is what the try before would have written, under the same ids; `moved` says that it would have moved the workflow. */
export function wasDone(asked: WorkflowChange, moved: boolean, facts: WorkflowFacts): boolean {
  if (moved && asked.update?.state === facts.workflow.state) return true
  const latest = new Map([...(facts.latest?.values() ?? [])].map(ending => [ending.id, ending.outcome]))
  if (asked.endings.some(ending => latest.get(ending.execution.id) === ending.outcome)) return true
  const active = new Set(facts.active.map(row => row.id))
  return [...asked.insertions, ...asked.replacements].some(row => active.has(row.id))
}
