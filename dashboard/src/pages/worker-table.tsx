/** Workers with what they are doing and when they were last heard of. */
import type { WorkerStatus } from '../api/types.ts'
import { Empty } from '../ui/notice.tsx'
import { StateBadge } from '../ui/state-badge.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { count } from '../ui/wording.ts'

const columns: readonly Column<WorkerStatus>[] = [
  {
    name: 'Worker',
    wide: true,
    cell: ({ id, host, pid }) => (
      <span title={id}>
        <strong>{host}</strong> <span className="muted">pid {pid}</span>
      </span>
    ),
  },
  { name: 'State', cell: ({ alive }) => <StateBadge state={alive ? 'alive' : 'silent'} /> },
  { name: 'Running', cell: ({ running }) => count(running), numeric: true },
  { name: 'Lease until', cell: ({ leaseUntil }) => <Time at={leaseUntil} /> },
]

interface Props {
  readonly workers: readonly WorkerStatus[]
  readonly more?: readonly Column<WorkerStatus>[]
}

export function WorkerTable({ workers, more = [] }: Props) {
  if (workers.length === 0) {
    return (
      <Empty title="No worker is running.">
        Nothing moves until one does: call <code>geneva.work()</code> in a process that has your workflows.
      </Empty>
    )
  }
  return <Table label="Workers" columns={[...columns, ...more]} rows={workers} keyOf={({ id }) => id} />
}
