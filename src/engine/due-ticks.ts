/**
 * Which ticks of a schedule are to be started now, and which one comes after them. Pure; instants are milliseconds since
 * 1970, by the database's clock.
 */
import type { CatchUp } from '../definition/define-schedule.ts'
import type { Timing } from '../primitives/timing.ts'

export interface DueTicks {
  /** Oldest first. */
  readonly ticks: readonly number[]
  /** The last one that is over with, started or not. */
  readonly last: number
  readonly next: number
}

export interface TickState {
  /** The tick that is due, or the first of several. */
  readonly nextAt: number
  /** When the schedule began to go by its timing; nothing before that is made up for. */
  readonly since: number
}

/** How late a tick may be to be started all the same where nothing is made up for. */
const lateMs = 60_000

/** With `all`, no more than `limit` at a time; those left are due the next time. */
export function dueTicks(
  timing: Timing,
  { nextAt, since }: TickState,
  catchUp: CatchUp,
  { now, limit }: { readonly now: number; readonly limit: number },
): DueTicks {
  const from = (tick: number) => Math.max(tick, since)
  if (catchUp !== 'all') {
    const last = timing.latest(from(nextAt), now) ?? nextAt
    const tooLate = catchUp === 'none' && now - last > lateMs
    return { ticks: tooLate ? [] : [last], last, next: timing.next(from(last)) }
  }
  const ticks = [nextAt]
  let next = timing.next(from(nextAt))
  while (next <= now && ticks.length < limit) {
    ticks.push(next)
    next = timing.next(next)
  }
  return { ticks, last: ticks.at(-1) ?? nextAt, next }
}
