/** Work that was given up, with why; each leads to where it can be put right. */
import { useDeadLetters } from '../api/queries.ts'
import type { DeadLetter } from '../api/types.ts'
import { href, replaceRoute, withQuery } from '../routing/route.ts'
import { Answer } from '../ui/answer.tsx'
import { typeName, WorkflowLink } from '../ui/link.tsx'
import { Empty } from '../ui/notice.tsx'
import { Page } from '../ui/page.tsx'
import { Pager, usePaging } from '../ui/pager.tsx'
import { StateBadge } from '../ui/state-badge.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { letterReason } from '../ui/wording.ts'

const columns: readonly Column<DeadLetter>[] = [
  {
    name: 'Step',
    cell: ({ id, name, kind, workflowType }) => (
      <a href={href('dead-letters', id)}>
        {kind === 'compensate' && 'undoing '}
        <strong>{name}</strong> of {typeName(workflowType)}
      </a>
    ),
  },
  { name: 'State', cell: ({ state }) => <StateBadge state={state} /> },
  { name: 'Why', cell: ({ reason }) => letterReason(reason) },
  { name: 'Error', wide: true, cell: ({ error }) => <span className="row-error">{error?.message}</span> },
  { name: 'Workflow', cell: ({ workflowId }) => <WorkflowLink id={workflowId} /> },
  { name: 'Given up', cell: ({ createdAt }) => <Time at={createdAt} /> },
]

export function DeadLettersPage({ query }: { readonly query: URLSearchParams }) {
  const state = query.get('state') ?? 'open'
  const paging = usePaging(state)
  const letters = useDeadLetters(state, paging.cursor)
  return (
    <Page
      title="Dead letters"
      lead="Steps that were given up. Put right what was wrong, then requeue; or discard."
      actions={
        <label className="inline-field">
          <span>Show</span>
          <select
            value={state}
            onChange={event => replaceRoute(withQuery(href('dead-letters'), { state: event.target.value }))}
          >
            <option value="open">open</option>
            <option value="all">all</option>
          </select>
        </label>
      }
    >
      <Answer query={letters} what="dead letters">
        {({ items, nextCursor }) =>
          items.length === 0 ? (
            <Empty title="No dead letters.">
              A step comes here when its policy says <code>dlq</code>, when it lost its worker three times in a row, or
              when it could not be undone.
            </Empty>
          ) : (
            <>
              <Table
                label="Dead letters"
                columns={columns}
                rows={items}
                keyOf={({ id }) => id}
                open={({ id }) => href('dead-letters', id)}
              />
              <Pager paging={paging} next={nextCursor} />
            </>
          )
        }
      </Answer>
    </Page>
  )
}
