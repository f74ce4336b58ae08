/** How everything is doing: what runs, what waits for a person, how fast, and since when something is late. */

import { useOverview } from '../api/queries.ts'
import type { Overview } from '../api/types.ts'
import { StateBar } from '../charts/state-bar.tsx'
import { href, withQuery } from '../routing/route.ts'
import { Answer } from '../ui/answer.tsx'
import { Card } from '../ui/card.tsx'
import { Empty } from '../ui/notice.tsx'
import { Page } from '../ui/page.tsx'
import { OverviewCharts } from './overview-charts.tsx'
import { OverviewTiles } from './overview-tiles.tsx'
import { QueueTable } from './queue-table.tsx'
import { WorkerTable } from './worker-table.tsx'

export function OverviewPage() {
  const overview = useOverview()
  return (
    <Page title="Overview">
      <Answer query={overview} what="the overview">
        {facts => (isUnused(facts) ? <Welcome /> : <Facts facts={facts} />)}
      </Answer>
    </Page>
  )
}

function Facts({ facts }: { readonly facts: Overview }) {
  return (
    <>
      <OverviewTiles facts={facts} />
      <Card title="Workflows by state">
        <StateBar
          states={facts.states}
          capped={facts.capped}
          address={state => withQuery(href('workflows'), { state })}
        />
      </Card>
      <OverviewCharts series={facts.series} />
      <div className="two-columns">
        <Card title="Queues" aside={<a href={href('queues')}>All queues</a>}>
          <QueueTable queues={facts.queues} />
        </Card>
        <Card title="Workers" aside={<a href={href('workers')}>All workers</a>}>
          <WorkerTable workers={facts.workers} />
        </Card>
      </div>
    </>
  )
}

function isUnused({ states, workers }: Overview): boolean {
  return workers.length === 0 && Object.values(states).every(amount => !amount)
}

function Welcome() {
  return (
    <Empty title="No workflow has been started yet.">
      <p>Start one from your application, and a worker that runs it:</p>
      <pre>{'await geneva.start(Signup, { hero: user })\nawait geneva.work()'}</pre>
      <p>
        Or look at the <a href={href('definitions')}>definitions</a> that this process knows, and start one there.
      </p>
    </Empty>
  )
}
