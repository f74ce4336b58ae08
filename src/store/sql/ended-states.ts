import { endedWorkflowStates } from '../records.ts'

/**
 * The ends of a workflow, in SQL. They are final for everyone but a rollback.
 */
export const endedStates = `(${endedWorkflowStates.map(state => `'${state}'`).join(', ')})`
