/**
 * The ends of a workflow, in SQL. They are final for everyone but a rollback.
 */
export const endedStates = "('finished', 'failed', 'canceled', 'aborted')"
