/** Which page an address shows. */
import type { ReactNode } from 'react'
import { ApprovalsPage } from '../pages/approvals-page.tsx'
import { DeadLetterPage } from '../pages/dead-letter-page.tsx'
import { DeadLettersPage } from '../pages/dead-letters-page.tsx'
import { DefinitionPage } from '../pages/definition-page.tsx'
import { DefinitionsPage } from '../pages/definitions-page.tsx'
import { HeroPage } from '../pages/hero-page.tsx'
import { NotFoundPage } from '../pages/not-found-page.tsx'
import { OverviewPage } from '../pages/overview-page.tsx'
import { QueuesPage } from '../pages/queues-page.tsx'
import { SchedulesPage } from '../pages/schedules-page.tsx'
import { WorkersPage } from '../pages/workers-page.tsx'
import { WorkflowPage } from '../pages/workflow-page.tsx'
import { WorkflowsPage } from '../pages/workflows-page.tsx'
import type { Route } from './route.ts'

export function pageFor({ segments, query }: Route): ReactNode {
  const [place = '', first, second] = segments
  switch (place) {
    case '':
      return <OverviewPage />
    case 'workflows':
      return first === undefined ? <WorkflowsPage query={query} /> : <WorkflowPage id={first} query={query} />
    case 'heroes':
      return first === undefined || second === undefined ? <NotFoundPage /> : <HeroPage type={first} id={second} />
    case 'approvals':
      return <ApprovalsPage />
    case 'dead-letters':
      return first === undefined ? <DeadLettersPage query={query} /> : <DeadLetterPage id={first} />
    case 'schedules':
      return <SchedulesPage />
    case 'queues':
      return <QueuesPage />
    case 'workers':
      return <WorkersPage />
    case 'definitions':
      return first === undefined ? <DefinitionsPage /> : <DefinitionPage type={first} />
    default:
      return <NotFoundPage />
  }
}
