/** Throughput, latency and failures over time. */

import type { SeriesPoint } from '../api/types.ts'
import { TimeChart } from '../charts/time-chart.tsx'
import { Card } from '../ui/card.tsx'
import { Empty } from '../ui/notice.tsx'
import { shortCount, span } from '../ui/wording.ts'

export function OverviewCharts({ series }: { readonly series: readonly SeriesPoint[] }) {
  if (series.length < 2) {
    return (
      <Card title="Over time">
        <Empty title="The charts begin with the second minute." />
      </Card>
    )
  }
  const at = series.map(point => point.at)
  return (
    <div className="three-columns">
      <Card title="Throughput">
        <TimeChart
          label="Workflows over time"
          at={at}
          format={shortCount}
          lines={[
            { name: 'started', tone: 'busy', values: series.map(point => point.started) },
            { name: 'finished', tone: 'good', values: series.map(point => point.finished), filled: true },
            { name: 'failures', tone: 'bad', values: series.map(point => point.failed), dashed: true },
          ]}
        />
      </Card>
      <Card title="Steps per second">
        <TimeChart
          label="Steps per second"
          at={at}
          format={shortCount}
          lines={[{ name: 'steps/s', tone: 'busy', values: series.map(point => point.stepsPerSecond), filled: true }]}
        />
      </Card>
      <Card title="Latency of steps">
        <TimeChart
          label="How long steps take"
          at={at}
          format={span}
          lines={[
            { name: 'p50', tone: 'busy', values: series.map(point => point.p50) },
            { name: 'p95', tone: 'undo', values: series.map(point => point.p95), dashed: true },
          ]}
        />
      </Card>
    </div>
  )
}
