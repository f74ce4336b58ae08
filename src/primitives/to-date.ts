/** Times of the database as people get them: it keeps microseconds, a Date milliseconds. */

export function toDate(micros: number): Date {
  return new Date(Math.floor(micros / 1000))
}

export function toOptionalDate(micros: number | null): Date | null {
  return micros === null ? null : toDate(micros)
}
