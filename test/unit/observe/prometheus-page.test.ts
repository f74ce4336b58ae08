/** The page for Prometheus, by the rules of its text format. */
import { describe, expect, it } from 'vitest'
import { MetricMemory, restLabel } from '../../../src/observe/telemetry/metric-memory.ts'
import { metricNames } from '../../../src/observe/telemetry/metric-table.ts'
import { prometheusName, prometheusPage } from '../../../src/observe/telemetry/prometheus-page.ts'
import { parsePrometheus } from '../../support/parse-prometheus.ts'

const step = { workflow: 'orders', step: 'charge' }

describe('the page for Prometheus', () => {
  it('is empty while nothing was counted', () => {
    expect(prometheusPage(new MetricMemory(), [])).toBe('')
  })

  it('writes counters and gauges under their help and type', () => {
    const memory = new MetricMemory()
    memory.count('geneva.executions.started', step)
    memory.count('geneva.executions.started', step)
    memory.count('geneva.executions.started', { ...step, step: 'ship' })
    const page = prometheusPage(memory, [
      { name: 'geneva.queue.age', labels: { queue: 'mail', handler: 'x' }, value: 1.5 },
    ])
    expect(page).toBe(
      [
        '# HELP geneva_executions_started_total Executions that a worker has begun or gone on with.',
        '# TYPE geneva_executions_started_total counter',
        'geneva_executions_started_total{workflow="orders",step="charge"} 2',
        'geneva_executions_started_total{workflow="orders",step="ship"} 1',
        '# HELP geneva_queue_age_seconds For how long the oldest of them has been due.',
        '# TYPE geneva_queue_age_seconds gauge',
        'geneva_queue_age_seconds{queue="mail",handler="x"} 1.5',
        '',
      ].join('\n'),
    )
  })

  it('counts a value in every bucket that reaches as far, bounds included', () => {
    const memory = new MetricMemory()
    for (const seconds of [0.005, 0.0051, 2, 1e9]) memory.record('geneva.execution.wait', step, seconds)
    const { samples } = parsePrometheus(prometheusPage(memory, []))
    const buckets = new Map(
      samples.filter(({ name }) => name.endsWith('_bucket')).map(({ labels, value }) => [labels.le, value]),
    )
    expect([...buckets.keys()].map(Number)).toEqual([...buckets.keys()].map(Number).toSorted((a, b) => a - b))
    expect([buckets.get('0.005'), buckets.get('0.01'), buckets.get('1'), buckets.get('2.5')]).toEqual([1, 2, 2, 3])
    expect([buckets.get('3600'), buckets.get('+Inf')]).toEqual([3, 4])
    const count = samples.find(({ name }) => name.endsWith('_count'))
    const sum = samples.find(({ name }) => name.endsWith('_sum'))
    expect([count?.value, sum?.value]).toEqual([4, 1e9 + 2.0101])
  })

  it('keeps names whole, whatever characters they have', () => {
    const memory = new MetricMemory()
    const names = ['say "no"', 'C:\\new', 'two\nlines', 'ünï {a="b"} 7', '', '\\"', '\\n']
    for (const name of names) memory.count('geneva.workflows.started', { workflow: name })
    const page = prometheusPage(memory, [])
    expect(page).toContain('{workflow="say \\"no\\""} 1\n')
    expect(page).toContain('{workflow="C:\\\\new"} 1\n')
    expect(page).toContain('{workflow="two\\nlines"} 1\n')
    expect(parsePrometheus(page).samples.map(({ labels }) => labels.workflow)).toEqual(names)
  })

  it('gives every metric a name that Prometheus takes', () => {
    const names = metricNames.map(prometheusName)
    for (const name of names) expect(name).toMatch(/^geneva_[a-z_]+$/)
    expect(new Set(names).size).toBe(names.length)
  })

  it('counts together what would be too many series', () => {
    const memory = new MetricMemory()
    for (let index = 0; index < 2500; index++) memory.count('geneva.workflows.started', { workflow: `w${index}` })
    memory.count('geneva.workflows.started', { workflow: 'w0' })
    const series = memory.series('geneva.workflows.started')
    expect(series).toHaveLength(2001)
    expect(series.find(({ labels }) => labels.workflow === restLabel)?.count).toBe(500)
    expect(series[0]).toMatchObject({ labels: { workflow: 'w0' }, count: 2 })
  })
})
