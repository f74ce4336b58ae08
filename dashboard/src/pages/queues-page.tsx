/** Every queue, and holding one up. */
import { useState } from 'react'
import { ActionDialog, reasonOf } from '../actions/action-dialog.tsx'
import { useMay, useQueues } from '../api/queries.ts'
import type { Queue } from '../api/types.ts'
import { Answer } from '../ui/answer.tsx'
import { Page } from '../ui/page.tsx'
import { count, span } from '../ui/wording.ts'
import { QueueTable } from './queue-table.tsx'
import { RequestsCard } from './requests-card.tsx'

export function QueuesPage() {
  const queues = useQueues()
  const mayChange = useMay('admin')
  const [asked, setAsked] = useState<Queue | null>(null)
  return (
    <Page
      title="Queues"
      lead="What is due and not yet claimed, by queue. A paused queue lets nothing begin, in any process."
    >
      <Answer query={queues} what="queues">
        {({ items }) => (
          <QueueTable
            queues={items}
            more={[
              { name: 'Limits', cell: limits },
              ...(mayChange
                ? [
                    {
                      name: 'Do',
                      cell: (queue: Queue) => (
                        <button type="button" onClick={() => setAsked(queue)}>
                          {queue.paused ? 'Resume' : 'Pause'}
                          <span className="unseen"> {queue.name}</span>
                        </button>
                      ),
                    },
                  ]
                : []),
            ]}
          />
        )}
      </Answer>
      <RequestsCard about="queue" />
      {asked && <QueueDialog queue={asked} close={() => setAsked(null)} />}
    </Page>
  )
}

function QueueDialog({ queue, close }: { readonly queue: Queue; readonly close: () => void }) {
  const action = queue.paused ? 'resume' : 'pause'
  return (
    <ActionDialog
      title={queue.paused ? `Resume queue ${queue.name}?` : `Pause queue ${queue.name}?`}
      confirm={queue.paused ? 'Resume' : 'Pause'}
      close={close}
      deed={reason => ({
        path: `queues/${encodeURIComponent(queue.name)}/${action}`,
        body: reasonOf(reason),
        done: queue.paused ? `${queue.name} goes on.` : `${queue.name} is paused.`,
      })}
    >
      <p>
        {queue.paused
          ? `What has fallen due meanwhile begins, in order: ${count(queue.due)} now.`
          : `No execution of this queue begins, in any process, until it is resumed. ${count(queue.running)} that run go on.`}
      </p>
    </ActionDialog>
  )
}

function limits({ concurrency, rate }: Queue): string {
  const parts = [
    ...(concurrency === null ? [] : [`${count(concurrency)} at once`]),
    ...(rate === null ? [] : [`${count(rate.limit)} in ${span(rate.perMs)}`]),
  ]
  return parts.length === 0 ? 'none' : parts.join(', ')
}
