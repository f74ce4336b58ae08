/** Every worker process that the database knows. */
import { useWorkers } from '../api/queries.ts'
import { Answer } from '../ui/answer.tsx'
import { Page } from '../ui/page.tsx'
import { Time } from '../ui/time.tsx'
import { WorkerTable } from './worker-table.tsx'

export function WorkersPage() {
  const workers = useWorkers()
  return (
    <Page
      title="Workers"
      lead="A worker that falls silent loses its claims when its lease is over; others take its work on."
    >
      <Answer query={workers} what="workers">
        {({ items }) => (
          <WorkerTable
            workers={items}
            more={[
              { name: 'Started', cell: ({ startedAt }) => <Time at={startedAt} /> },
              { name: 'Serves', wide: true, cell: ({ handlers }) => handlers.join(', ') },
              { name: 'Queues', cell: ({ queues }) => (queues?.length ? queues.join(', ') : 'all') },
            ]}
          />
        )}
      </Answer>
    </Page>
  )
}
