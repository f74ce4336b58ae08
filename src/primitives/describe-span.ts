/** Lengths of time as a person says them: the largest unit that fits, rounded down. For sentences, not to be read back. */

const units = [
  ['day', 24 * 60 * 60 * 1000],
  ['hour', 60 * 60 * 1000],
  ['minute', 60 * 1000],
  ['second', 1000],
] as const

/** `7 minutes`; two of the largest units would say more than anybody wants to know. */
export function describeSpan(ms: number): string {
  for (const [unit, length] of units) {
    // Up to two of a unit the smaller one tells more: 90 minutes, not 1 hour.
    const count = Math.floor(ms / length)
    if (count >= 2 || (count === 1 && ms === length)) return `${count} ${unit}${count === 1 ? '' : 's'}`
  }
  return ms >= 1000 ? '1 second' : 'less than a second'
}
