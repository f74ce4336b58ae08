/** The event of a row that begins with its workflow: such rows are written without a draft. */
import type { NewEvent, NewExecution } from './change.ts'

export function scheduledEvent({ workflowId, id: executionId, node, attempt, state, kind }: NewExecution): NewEvent {
  const type = kind === 'timer' ? 'timer.scheduled' : 'step.scheduled'
  return { workflowId, type, executionId, node, attempt, to: state }
}
