/**
 * What a worker leaves open to others: how that which it has claimed is run, when that which has to be tried again falls due,
 * and what comes right before the code of a step. Production has one of each; a test kit puts its own in their place, and
 * everything around them stays the same.
 */
import type { Graph } from '../definition/graph.ts'
import type { StepReport } from '../engine/step-report.ts'
import type { ClaimedExecution } from '../store/records.ts'

/** How executions are run that were claimed. Whatever it does, each must be run once. */
export interface DispatchStrategy {
  dispatch(run: () => Promise<void>): Promise<void>
}

/** When what a step came to lets it be tried again: the report as it is recorded. */
export interface ReenqueueStrategy {
  reenqueue(report: StepReport): StepReport
}

export interface Strategies extends DispatchStrategy, ReenqueueStrategy {
  /** Asked right before the code of a step is called, and not of what undoes it; what it throws counts as thrown by the code. */
  beforeCall(claimed: ClaimedExecution, graph: Graph): void
}

/** Side by side, after the waits that were declared. */
export const productionStrategies: Strategies = {
  dispatch: run => run(),
  reenqueue: report => report,
  beforeCall: () => {},
}

const chosen = new WeakMap<object, () => Strategies>()

/** From now on every worker on this store goes by what this makes for it. */
export function useStrategies(store: object, make: () => Strategies): void {
  chosen.set(store, make)
}

export function strategiesFor(store: object): Strategies {
  return chosen.get(store)?.() ?? productionStrategies
}
