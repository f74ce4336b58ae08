/** One workflow: what it waits for, its graph as it stands, and everything that happened to it. */
import { WorkflowActions } from '../actions/workflow-actions.tsx'
import { useWorkflow } from '../api/queries.ts'
import type { WorkflowDetail } from '../api/types.ts'
import { href, replaceRoute, withQuery } from '../routing/route.ts'
import { Answer } from '../ui/answer.tsx'
import { HeroLink, typeName } from '../ui/link.tsx'
import { Page } from '../ui/page.tsx'
import { StateBadge } from '../ui/state-badge.tsx'
import { Tabs } from '../ui/tabs.tsx'
import { Time, Took } from '../ui/time.tsx'
import { shortId } from '../ui/wording.ts'
import { AttemptsTab } from './attempts-tab.tsx'
import { DataTab } from './data-tab.tsx'
import { EventsTab } from './events-tab.tsx'
import { GraphTab } from './graph-tab.tsx'
import { ProgressStrip } from './progress-strip.tsx'
import { TimelineTab } from './timeline-tab.tsx'
import { WaitingCard } from './waiting-card.tsx'

interface Props {
  readonly id: string
  readonly query: URLSearchParams
}

export function WorkflowPage({ id, query }: Props) {
  const workflow = useWorkflow(id)
  const { data } = workflow
  return (
    <Page
      title={data ? `${typeName(data.type)} ${shortId(id)}` : 'Workflow'}
      heading={
        data && (
          <>
            {typeName(data.type)} <span className="mono heading-id">{id}</span> <StateBadge state={data.state} />
          </>
        )
      }
      lead={data && <Facts workflow={data} />}
      actions={data && <WorkflowActions workflow={data} />}
    >
      <Answer query={workflow} what="the workflow">
        {detail => (
          <>
            <WaitingCard workflow={detail} />
            <ProgressStrip id={id} />
            <Tabs
              label="About this workflow"
              chosen={query.get('tab') ?? 'graph'}
              choose={tab => replaceRoute(withQuery(href('workflows', id), { tab }))}
              tabs={[
                { name: 'graph', label: 'Graph', show: () => <GraphTab workflow={detail} /> },
                { name: 'timeline', label: 'Timeline', show: () => <TimelineTab id={id} /> },
                { name: 'attempts', label: 'Attempts', show: () => <AttemptsTab id={id} /> },
                { name: 'events', label: 'Events', show: () => <EventsTab id={id} /> },
                { name: 'data', label: 'Input and output', show: () => <DataTab workflow={detail} /> },
              ]}
            />
          </>
        )}
      </Answer>
    </Page>
  )
}

function Facts({ workflow }: { readonly workflow: WorkflowDetail }) {
  const { hero, createdAt, endedAt, deadline, parent, tags, continues, continuedAs } = workflow
  return (
    <ul className="facts">
      {hero && (
        <li>
          Hero <HeroLink hero={hero} />
        </li>
      )}
      <li>
        Started <Time at={createdAt} />
      </li>
      <li>
        {endedAt === null ? 'For' : 'Took'} <Took from={createdAt} to={endedAt} />
      </li>
      {deadline && (
        <li>
          Must end <Time at={deadline} />
        </li>
      )}
      {parent && (
        <li>
          Started by <a href={href('workflows', parent.id)}>{shortId(parent.id)}</a>
          {parent.node ? ` at ${parent.node}` : ''}
        </li>
      )}
      {continues && (
        <li>
          Continues <a href={href('workflows', continues)}>{shortId(continues)}</a>
        </li>
      )}
      {continuedAs && (
        <li>
          Goes on as <a href={href('workflows', continuedAs)}>{shortId(continuedAs)}</a>
        </li>
      )}
      {tags.map(tag => (
        <li key={tag}>
          <code className="node-chip">{tag}</code>
        </li>
      ))}
    </ul>
  )
}
