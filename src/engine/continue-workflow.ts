/**
 * What a workflow that restarts goes on as: a new one of the same class and hero, planned when the step says so, begun in
 * the transaction that finishes the old one.
 */
import type { Continuation } from '../store/change.ts'
import type { Plan } from './plan.ts'
import { firstRows } from './start-orders.ts'
import type { StepReport } from './step-report.ts'

export function continuationOf(
  plan: Plan,
  { input, waitMs, lane }: Pick<Extract<StepReport, { kind: 'restart' }>, 'input' | 'waitMs' | 'lane'>,
): Continuation {
  const id = plan.takeId()
  const begin = { delayMs: waitMs, at: null, deadline: null, lane }
  const rows = firstRows(plan, begin, { workflowId: id, takeId: () => plan.takeId() })
  return { id, input, lane, generation: plan.generation, ...rows }
}
