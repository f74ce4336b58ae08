/**
 * The states that few workflows are in and people look for: those that somebody has to look at, and the ends that are not
 * `finished`. They have an index of their own, and a query must repeat its condition word for word to be served by it.
 */
export const rareStates: readonly string[] = ['paused', 'rolling_back', 'dlq', 'failed', 'canceled', 'aborted']

export const rareStateCondition = `state in (${rareStates.map(state => `'${state}'`).join(', ')})`
