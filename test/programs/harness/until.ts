/** Waiting for something to become true, with an end. */
import { setTimeout as pause } from 'node:timers/promises'

const firstPauseMs = 4
const longestPauseMs = 30

/**
 * The first answer that is something, or `null` when the time is over. Looks again after a few milliseconds, and less
 * often the longer it takes: most looks are queries, and a wait of seconds should leave the processor to others.
 */
export async function until<T>(
  look: () => T | Promise<T>,
  timeoutMs: number,
): Promise<Exclude<T, false | null | undefined> | null> {
  const begin = performance.now()
  for (;;) {
    const answer = await look()
    if (answer !== false && answer !== null && answer !== undefined) {
      return answer as Exclude<T, false | null | undefined>
    }
    const elapsedMs = performance.now() - begin
    if (elapsedMs > timeoutMs) return null
    await pause(Math.min(firstPauseMs + elapsedMs / 20, longestPauseMs))
  }
}
