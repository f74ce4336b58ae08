/** Who asked for what, and why: the record of requests to queues, schedules and the store. */
import { useRequests } from '../api/queries.ts'
import type { OperatorRequest } from '../api/types.ts'
import { Answer } from '../ui/answer.tsx'
import { Card } from '../ui/card.tsx'
import { Pager, usePaging } from '../ui/pager.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { counted, span, words } from '../ui/wording.ts'

interface Props {
  /** Only what was asked of these; `null`: everything. */
  readonly about: 'queue' | 'schedule' | null
}

const columns: readonly Column<OperatorRequest>[] = [
  { name: 'What', cell: request => <strong>{whatOf(request)}</strong> },
  { name: 'By', cell: ({ by }) => by ?? <span className="muted">nobody said</span> },
  { name: 'Why', wide: true, cell: ({ reason }) => reason ?? <span className="muted">–</span> },
  { name: 'When', cell: ({ at }) => <Time at={at} /> },
]

export function RequestsCard({ about }: Props) {
  const paging = usePaging(about ?? 'all')
  const requests = useRequests(about, paging.cursor)
  return (
    <Card title="Who asked for what">
      <Answer query={requests} what="requests">
        {({ items, nextCursor }) =>
          items.length === 0 ? (
            <p className="muted">Nobody has paused, resumed or changed anything here yet.</p>
          ) : (
            <>
              <Table label="Who asked for what" columns={columns} rows={items} keyOf={({ id }) => id} />
              <Pager paging={paging} next={nextCursor} />
            </>
          )
        }
      </Answer>
    </Card>
  )
}

const verbs: Readonly<Record<string, string>> = {
  pause: 'Paused',
  resume: 'Resumed',
  limit: 'Other limits for',
  remove: 'Removed',
}

function whatOf({ action, name, detail }: OperatorRequest): string {
  if (action === 'workflow.prune') return prunedText(detail)
  const [subject = '', verb = ''] = action.split('.')
  return `${verbs[verb] ?? words(verb)} ${subject} ${name ?? ''}`.trim()
}

function prunedText(detail: unknown): string {
  const { removed, olderThanMs } = (detail ?? {}) as { readonly removed?: unknown; readonly olderThanMs?: unknown }
  const age = typeof olderThanMs === 'number' && olderThanMs > 0 ? ` that had ended ${span(olderThanMs)} ago` : ''
  return typeof removed === 'number'
    ? `Removed ${counted(removed, 'workflow')}${age}`
    : `Began to remove workflows${age}`
}
