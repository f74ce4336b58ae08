/** The ends of a workflow, in SQL. They are final for everyone but a rollback. */
import { endedWorkflowStates } from '../records.ts'

export const endedStates = `(${endedWorkflowStates.map(state => `'${state}'`).join(', ')})`
