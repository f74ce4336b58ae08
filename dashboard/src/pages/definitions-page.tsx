/** The workflows that this process knows, each drawn before it runs. */
import { useDefinitions } from '../api/queries.ts'
import type { Definition } from '../api/types.ts'
import { href, withQuery } from '../routing/route.ts'
import { Answer } from '../ui/answer.tsx'
import { Empty } from '../ui/notice.tsx'
import { Page } from '../ui/page.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'

const columns: readonly Column<Definition>[] = [
  { name: 'Workflow', wide: true, cell: ({ type }) => <a href={href('definitions', type)}>{type}</a> },
  {
    name: 'About',
    cell: ({ heroTypes }) => (heroTypes.length === 0 ? <span className="muted">–</span> : heroTypes.join(', ')),
  },
  { name: 'Generation', cell: ({ generation }) => generation, numeric: true },
  { name: 'Registered', cell: ({ registeredAt }) => <Time at={registeredAt} /> },
  { name: 'Code', cell: ({ hasCode }) => (hasCode ? 'here' : 'in other processes') },
  {
    name: 'Runs',
    cell: ({ type }) => (
      <a href={withQuery(href('workflows'), { type })}>
        Show workflows<span className="unseen"> of {type}</span>
      </a>
    ),
  },
]

export function DefinitionsPage() {
  const definitions = useDefinitions()
  return (
    <Page title="Definitions" lead="What each class of workflow does, as a graph, before anything runs.">
      <Answer query={definitions} what="definitions">
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="This process knows no workflow classes.">
              Pass them to <code>new Geneva({'{ workflows }'})</code> in the process that serves this page.
            </Empty>
          ) : (
            <Table
              label="Definitions"
              columns={columns}
              rows={items}
              keyOf={({ type }) => type}
              open={({ type }) => href('definitions', type)}
            />
          )
        }
      </Answer>
    </Page>
  )
}
