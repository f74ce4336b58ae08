/** A clock that stands still until a test moves it. What does not go by a timer goes on by itself. */
import { setImmediate } from 'node:timers/promises'
import { vi } from 'vitest'

/** Until `vi.useRealTimers()`. */
export function withClock(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
}

/** Everything that was set going has got as far as it can. */
export async function turns(): Promise<void> {
  await setImmediate()
}

/** The clock goes on for so long, in small steps. */
export async function pass(ms: number): Promise<void> {
  for (let at = 0; at < ms; at += 10) {
    vi.advanceTimersByTime(10)
    await turns()
  }
}
