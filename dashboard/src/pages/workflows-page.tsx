/** The list of workflows: filter, page through, select, and act on many at once. */
import { useState } from 'react'
import { BulkActions } from '../actions/bulk-actions.tsx'
import { useMay, useWorkflowCount, useWorkflows } from '../api/queries.ts'
import type { Query } from '../api/request.ts'
import type { WorkflowSummary } from '../api/types.ts'
import { href } from '../routing/route.ts'
import { Answer } from '../ui/answer.tsx'
import { Empty } from '../ui/notice.tsx'
import { Page } from '../ui/page.tsx'
import { Pager, usePaging } from '../ui/pager.tsx'
import { Table } from '../ui/table.tsx'
import { count } from '../ui/wording.ts'
import { FilterForm } from './filter-form.tsx'
import { workflowColumns } from './workflow-columns.tsx'
import { askedOf, filterFrom, isEmptyFilter } from './workflow-filter.ts'

const pageSize = 50

export function WorkflowsPage({ query }: { readonly query: URLSearchParams }) {
  const filter = filterFrom(query)
  const asked = askedOf(filter)
  const paging = usePaging(query.toString())
  const workflows = useWorkflows(asked, paging.cursor, pageSize)
  return (
    <Page title="Workflows" lead={<Amount asked={asked} />}>
      <FilterForm filter={filter} />
      <Answer query={workflows} what="workflows">
        {({ items, nextCursor, capped }) => (
          <>
            {capped && <SearchedInPart />}
            {items.length === 0 ? (
              <Nothing filtered={!isEmptyFilter(filter)} />
            ) : (
              <>
                <SelectableList key={query.toString()} items={items} asked={asked} />
                <Pager paging={paging} next={nextCursor} />
              </>
            )}
          </>
        )}
      </Answer>
    </Page>
  )
}

interface ListProps {
  readonly items: readonly WorkflowSummary[]
  readonly asked: Query
}

function SelectableList({ items, asked }: ListProps) {
  const mayChange = useMay('operator')
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const all = items.every(({ id }) => chosen.has(id))
  const ids = items.map(({ id }) => id)
  const select = {
    head: (
      <input
        type="checkbox"
        aria-label="Select all on this page"
        checked={all}
        onChange={() => setChosen(new Set(all ? [] : ids))}
      />
    ),
    cell: ({ id, type }: WorkflowSummary) => (
      <input type="checkbox" aria-label={`Select ${type} ${id}`} checked={chosen.has(id)} onChange={() => toggle(id)} />
    ),
  }
  return (
    <>
      {mayChange && (
        <BulkActions chosen={ids.filter(id => chosen.has(id))} asked={asked} clear={() => setChosen(new Set())} />
      )}
      <Table
        label="Workflows"
        columns={workflowColumns}
        rows={items}
        keyOf={({ id }) => id}
        open={({ id }) => href('workflows', id)}
        {...(mayChange ? { select } : {})}
      />
    </>
  )

  function toggle(id: string): void {
    const next = new Set(chosen)
    if (!next.delete(id)) next.add(id)
    setChosen(next)
  }
}

function Amount({ asked }: { readonly asked: Query }) {
  const { data } = useWorkflowCount(asked)
  if (data === undefined) return <>…</>
  return (
    <span aria-live="polite">
      {data.capped ? 'at least ' : ''}
      {count(data.count)} {data.count === 1 ? 'workflow' : 'workflows'}
    </span>
  )
}

function SearchedInPart() {
  return (
    <p className="muted small" role="status">
      Not all were looked at: more records begin so than a search looks through. Search for more of the id.
    </p>
  )
}

function Nothing({ filtered }: { readonly filtered: boolean }) {
  return filtered ? (
    <Empty title="No workflow fits this filter.">
      Leave something out of it, or <a href={href('workflows')}>show all</a>.
    </Empty>
  ) : (
    <Empty title="No workflow has been started yet.">
      Start one with <code>geneva.start(...)</code>, or from its <a href={href('definitions')}>definition</a>.
    </Empty>
  )
}
