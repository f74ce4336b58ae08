/** Writes metrics in the text format that Prometheus reads, version 0.0.4. */
import type { MetricMemory, Series } from './metric-memory.ts'
import {
  factsOf,
  type GaugeReading,
  type Labels,
  type MetricFacts,
  type MetricName,
  metricNames,
} from './metric-table.ts'

export function prometheusPage(memory: MetricMemory, gauges: readonly GaugeReading[]): string {
  const lines = metricNames.flatMap(name => {
    const facts = factsOf(name)
    const title = prometheusName(name)
    const samples =
      facts.kind === 'gauge'
        ? gauges.filter(gauge => gauge.name === name).map(({ labels, value }) => sample(title, labels, value))
        : memory.series(name).flatMap(series => samplesOf(title, facts, series))
    if (samples.length === 0) return []
    return [`# HELP ${title} ${escapeHelp(facts.help)}`, `# TYPE ${title} ${facts.kind}`, ...samples]
  })
  return lines.map(line => `${line}\n`).join('')
}

/** The rule that OpenTelemetry has: underscores, the unit behind, and `_total` for what only rises. */
export function prometheusName(name: MetricName): string {
  const { kind, unit } = factsOf(name)
  return `${name.replaceAll('.', '_')}${unit === 's' ? '_seconds' : ''}${kind === 'counter' ? '_total' : ''}`
}

function samplesOf(title: string, { kind, bounds = [] }: MetricFacts, series: Series): string[] {
  if (kind === 'counter') return [sample(title, series.labels, series.count)]
  let below = 0
  const buckets = bounds.map((bound, index) => {
    below += series.buckets[index] ?? 0
    return sample(`${title}_bucket`, { ...series.labels, le: String(bound) }, below)
  })
  return [
    ...buckets,
    sample(`${title}_bucket`, { ...series.labels, le: '+Inf' }, series.count),
    sample(`${title}_sum`, series.labels, series.sum),
    sample(`${title}_count`, series.labels, series.count),
  ]
}

function sample(title: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`)
  return `${title}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}`
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}

function escapeLabel(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"')
}
