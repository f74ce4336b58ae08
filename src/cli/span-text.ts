/** Spans as a table or a screen shows them: short, and never more precise than anybody wants to know. */

const units = [
  ['d', 24 * 60 * 60 * 1000],
  ['h', 60 * 60 * 1000],
  ['min', 60 * 1000],
  ['s', 1000],
] as const

/** `12 ms`, `3.4 s`, `5 min`, `2 d`. */
export function shortSpan(ms: number): string {
  for (const [unit, length] of units) {
    if (ms < length) continue
    const count = ms / length
    return `${unit === 's' && count < 10 ? count.toFixed(1) : Math.floor(count)} ${unit}`
  }
  return `${Math.max(0, Math.round(ms))} ms`
}
