/**
 * When executions of a limited scope began: pairs of a time and a count, as text in its row. What began at nearly the same
 * time shares a pair, under the later time, so the text stays short and a rate is never exceeded. Pure.
 */
export type StartLog = readonly (readonly [at: number, count: number])[]

/** A pair covers no more than this part of the period. */
const grains = 100

export function parseLog(text: string | null): StartLog {
  return text === null ? [] : (JSON.parse(text) as StartLog)
}

/** How many began in the period that ends now. */
export function startedSince(log: StartLog, now: number, periodMs: number): number {
  return log.filter(([at]) => at > now - periodMs * 1000).reduce((sum, [, count]) => sum + count, 0)
}

/** The log with so many more, without what is older than a period. */
export function withStarts(log: StartLog, at: number, count: number, periodMs: number): StartLog {
  const recent = log.filter(([time]) => time > at - periodMs * 1000)
  const last = recent.at(-1)
  const grainOf = (time: number) => Math.floor(time / ((periodMs * 1000) / grains))
  const joins = last !== undefined && grainOf(last[0]) >= grainOf(at)
  return joins ? [...recent.slice(0, -1), [Math.max(last[0], at), last[1] + count]] : [...recent, [at, count]]
}

/** When one more may begin: as soon as enough of what began is a period ago. */
export function nextStartAt(log: StartLog, limit: number, periodMs: number): number | null {
  let open = log.reduce((sum, [, count]) => sum + count, 0) - limit
  for (const [at, count] of log) {
    if (open < 0) return null
    open -= count
    if (open < 0) return at + periodMs * 1000
  }
  return null
}
