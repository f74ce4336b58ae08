/** Counts in the memory of this process what the page for Prometheus shows. How many series it keeps is limited. */
import {
  type CounterName,
  factsOf,
  type HistogramName,
  type Labels,
  type Meters,
  type MetricName,
} from './metric-table.ts'

/** Of each metric. Names of steps may come from outside, as in graphs that are built at run time. */
const maxSeries = 2000
/** Where the rest is counted together. */
export const restLabel = '(other)'

export interface Series {
  readonly labels: Labels
  /** Of a counter its count, of a histogram how many values there were. */
  count: number
  sum: number
  /** Of a histogram: how many values fell into each bucket, and into none of them last. */
  readonly buckets: number[]
}

export class MetricMemory implements Meters {
  readonly #metrics = new Map<MetricName, Map<string, Series>>()

  count(name: CounterName, labels: Labels): void {
    this.#find(name, labels).count++
  }

  record(name: HistogramName, labels: Labels, seconds: number): void {
    const series = this.#find(name, labels)
    const bounds = factsOf(name).bounds ?? []
    const bucket = bounds.findIndex(bound => seconds <= bound)
    const index = bucket === -1 ? bounds.length : bucket
    series.buckets[index] = (series.buckets[index] ?? 0) + 1
    series.count++
    series.sum += seconds
  }

  series(name: MetricName): readonly Series[] {
    return [...(this.#metrics.get(name)?.values() ?? [])]
  }

  #find(name: MetricName, labels: Labels): Series {
    const all = this.#metrics.get(name) ?? new Map<string, Series>()
    this.#metrics.set(name, all)
    const key = keyOf(name, labels)
    const known = all.get(key)
    if (known) return known
    if (all.size >= maxSeries) {
      const rest = Object.fromEntries(factsOf(name).labels.map(label => [label, restLabel]))
      return all.get(keyOf(name, rest)) ?? this.#add(all, name, rest)
    }
    return this.#add(all, name, labels)
  }

  #add(all: Map<string, Series>, name: MetricName, labels: Labels): Series {
    const bounds = factsOf(name).bounds
    const series: Series = { labels, count: 0, sum: 0, buckets: bounds ? Array(bounds.length + 1).fill(0) : [] }
    all.set(keyOf(name, labels), series)
    return series
  }
}

function keyOf(name: MetricName, labels: Labels): string {
  return factsOf(name)
    .labels.map(label => labels[label] ?? '')
    .join('\u0000')
}
