/** Every worker process that the database knows, and what people asked of all of them. */
import { useWorkers } from '../api/queries.ts'
import { Answer } from '../ui/answer.tsx'
import { Page } from '../ui/page.tsx'
import { Time } from '../ui/time.tsx'
import { RequestsCard } from './requests-card.tsx'
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
              { name: 'Serves', wide: true, cell: ({ handlers }) => named(handlers) },
              { name: 'Queues', cell: ({ queues }) => (queues === null ? 'all' : named(queues)) },
            ]}
          />
        )}
      </Answer>
      <RequestsCard about={null} />
    </Page>
  )
}

/** Without what the engine has for itself: timers, and the queue that they stand in. */
function named(names: readonly string[]): string {
  return names.filter(name => name !== '' && !name.startsWith('#')).join(', ')
}
