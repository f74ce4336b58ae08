/** Moments as a person reads them, the same everywhere: to the second, in UTC, and saying so. For sentences and tables. */

/** `2026-11-15 13:00:12 UTC` */
export function describeTime(time: Date): string {
  return `${time.toISOString().slice(0, 19).replace('T', ' ')} UTC`
}
