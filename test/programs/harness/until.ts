/** Waiting for something to become true, with an end. */
import { setTimeout as pause } from 'node:timers/promises'

/** The first answer that is something, or `null` when the time is over. */
export async function until<T>(
  look: () => T | Promise<T>,
  timeoutMs: number,
): Promise<Exclude<T, false | null | undefined> | null> {
  const end = performance.now() + timeoutMs
  for (;;) {
    const answer = await look()
    if (answer !== false && answer !== null && answer !== undefined) {
      return answer as Exclude<T, false | null | undefined>
    }
    if (performance.now() > end) return null
    await pause(5)
  }
}
