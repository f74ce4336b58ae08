/** Times of the database as people get them: it keeps microseconds, a Date milliseconds. */

/** The latest time that is taken from users, in milliseconds; 1970 less as much is the earliest. Beyond it microseconds are not exact. */
export const latestMs = Date.UTC(2243, 0, 1)

/** Whether a time that somebody has given can be kept. */
export function isKeepable(ms: unknown): ms is number {
  return typeof ms === 'number' && Math.abs(ms) <= latestMs
}

export function toDate(micros: number): Date {
  return new Date(Math.floor(micros / 1000))
}

export function toOptionalDate(micros: number | null): Date | null {
  return micros === null ? null : toDate(micros)
}
