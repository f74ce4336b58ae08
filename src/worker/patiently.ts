/** Waits with a step for a database that is away. */
import { jittered, pauseFor } from '../primitives/pause-for.ts'
import type { Store } from '../store/store.ts'
import type { RunningStep } from './running-step.ts'

const longestPauseMs = 5000

/**
 * `null` when the step should stop before the write was answered: then nobody knows whether it was made. Rejects
 * for what will never pass, and for whatever comes once `call` does not wait any more.
 */
export async function patiently<T>(
  step: RunningStep,
  store: Pick<Store, 'isLasting'>,
  write: () => T | Promise<T>,
  call: { readonly waits: boolean } = { waits: true },
): Promise<T | null> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await write()
    } catch (error) {
      if (!call.waits || store.isLasting(error)) throw error
      if (step.interruption !== null || step.stopReason !== null) return null
      await pauseFor(jittered(Math.min(50 * 2 ** attempt, longestPauseMs), 0.5), step.signal)
    }
  }
}
