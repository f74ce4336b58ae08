/** Starts workflows in a transaction of our own: at once where that can be done, and with a look where it cannot. */
import type { StartCall, StartOrder, StartResult } from '../store.ts'
import type { SqlContext } from './context.ts'
import { hasLostPatience } from './retrying.ts'
import { isPlain, startAtOnce } from './start-at-once.ts'
import { slices, startEvents, startLooking } from './start-workflows.ts'

export async function startWorkflows(
  context: SqlContext,
  orders: readonly StartOrder[],
  call: StartCall,
): Promise<StartResult[]> {
  if (call.repeated || orders.length === 0 || !orders.every(isPlain) || slices(orders).length > 1)
    return startLooking(context, orders, call)
  const { patienceMs = Infinity } = call
  const begun = performance.now()
  try {
    const results = await startAtOnce(context, orders, call.revision ?? null)
    if (results === null) return await startLooking(context, orders, call)
    context.tell(() => startEvents(orders, results))
    return results
  } catch (error) {
    const failure = context.dialect.classify(error)
    if (failure === 'lasting') throw error
    if (failure === 'transient' && hasLostPatience(context.dialect, begun, patienceMs)) throw error
    // It may have been committed all the same.
    return startLooking(context, orders, { ...call, repeated: true })
  }
}
