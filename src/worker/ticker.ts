/**
 * Wakes up when a schedule of this process ticks, and starts what is due. Every worker does so; the database decides who
 * was first.
 */
import type { Ticks } from '../engine/ticks.ts'
import { jittered, pauseFor } from '../primitives/pause-for.ts'
import type { ErrorListener } from './error-listener.ts'

/** How long to leave a database alone that does not answer. */
const troubleMs = 1000

/** Until the signal says stop; at once where there are no schedules. */
export async function tickAlways(ticks: Ticks, onError: ErrorListener, stop: AbortSignal): Promise<void> {
  while (!ticks.isEmpty && !stop.aborted) {
    const waitMs = await tickOnce(ticks, onError)
    if (waitMs > 0) await pauseFor(jittered(waitMs, waitMs < 100 ? 0.5 : 0.02), stop)
  }
}

export async function tickOnce(ticks: Ticks, onError: ErrorListener): Promise<number> {
  try {
    return await ticks.runDue((error, schedule) => onError.report(error, null, { schedule }))
  } catch (error) {
    onError.report(error, null)
    return troubleMs
  }
}
