/** What a list says about each workflow. */
import type { WorkflowSummary } from '../api/types.ts'
import { HeroLink, typeName, WorkflowLink } from '../ui/link.tsx'
import { ProgressBar } from '../ui/progress-bar.tsx'
import { StateBadge } from '../ui/state-badge.tsx'
import type { Column } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'

export const workflowColumns: readonly Column<WorkflowSummary>[] = [
  {
    name: 'Workflow',
    cell: ({ id, type }) => (
      <>
        <WorkflowLink id={id}>
          <strong className="type-name">{typeName(type)}</strong> {id.length > 14 ? `…${id.slice(-8)}` : id}
        </WorkflowLink>
      </>
    ),
  },
  { name: 'State', cell: ({ state }) => <StateBadge state={state} /> },
  { name: 'Hero', cell: ({ hero }) => <HeroLink hero={hero} /> },
  { name: 'At', wide: true, cell: workflow => <Whereabouts workflow={workflow} /> },
  { name: 'Started', cell: ({ createdAt }) => <Time at={createdAt} /> },
  { name: 'Ended', cell: ({ endedAt }) => <Time at={endedAt} /> },
]

function Whereabouts({ workflow: { at, error, progress } }: { readonly workflow: WorkflowSummary }) {
  return (
    <>
      {at.slice(0, 3).map(node => (
        <code key={node} className="node-chip">
          {node}
        </code>
      ))}
      {at.length > 3 && <span className="muted">and {at.length - 3} more</span>}
      {progress !== null && <ProgressBar {...progress} label="Progress" />}
      {error !== null && <span className="row-error">{error}</span>}
    </>
  )
}
