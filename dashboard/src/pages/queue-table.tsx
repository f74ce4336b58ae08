/** Queues with what stands in them, and for whom may do so: pause and resume. */
import type { Queue } from '../api/types.ts'
import { Empty } from '../ui/notice.tsx'
import { StateBadge } from '../ui/state-badge.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { count, span } from '../ui/wording.ts'

const columns: readonly Column<Queue>[] = [
  { name: 'Queue', cell: ({ name }) => <strong>{name}</strong>, wide: true },
  { name: 'Running', cell: ({ running }) => count(running), numeric: true },
  { name: 'Due', cell: ({ due }) => count(due), numeric: true },
  { name: 'Later', cell: ({ later }) => count(later), numeric: true },
  { name: 'Oldest', cell: ({ due, ageMs }) => (due === 0 ? '–' : span(ageMs)), numeric: true },
  { name: 'State', cell: queue => <QueueState queue={queue} /> },
]

interface Props {
  readonly queues: readonly Queue[]
  readonly more?: readonly Column<Queue>[]
}

export function QueueTable({ queues, more = [] }: Props) {
  if (queues.length === 0) return <Empty title="Nothing stands in any queue." />
  return <Table label="Queues" columns={[...columns, ...more]} rows={queues} keyOf={({ name }) => name} />
}

function QueueState({ queue }: { readonly queue: Queue }) {
  if (!queue.paused) return <span className="muted">open</span>
  const who = [queue.pausedBy === null ? '' : `by ${queue.pausedBy}`, queue.pauseReason ?? '']
    .filter(Boolean)
    .join(': ')
  return (
    <span>
      <StateBadge state="paused" /> <span className="muted">{who}</span>
    </span>
  )
}
