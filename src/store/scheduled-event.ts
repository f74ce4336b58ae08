/** The event of a row that begins with its workflow: such rows are written without a draft. */
import type { NewEvent, NewExecution } from './change.ts'

export function scheduledEvent(row: NewExecution): NewEvent {
  const { workflowId, id: executionId, node, nodeName = null, attempt, state, kind, owner } = row
  if (owner !== null)
    return { workflowId, type: 'step.started', executionId, node, nodeName, attempt, to: state, by: owner }
  const type = kind === 'timer' ? 'timer.scheduled' : 'step.scheduled'
  return { workflowId, type, executionId, node, nodeName, attempt, to: state }
}
