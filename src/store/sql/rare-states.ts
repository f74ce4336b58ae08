/**
 * The states that few workflows are in and people look for. They have an index of their own, and a query must repeat its
 * condition word for word to be served by it.
 */
export const rareStates: readonly string[] = ['paused', 'rolling_back', 'dlq']

export const rareStateCondition = `state in (${rareStates.map(state => `'${state}'`).join(', ')})`
