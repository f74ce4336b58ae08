/** Every schedule: when it is due next, what it did, and pause, resume, start now. */
import { useState } from 'react'
import { ActionDialog, reasonOf } from '../actions/action-dialog.tsx'
import { useMay, useSchedules } from '../api/queries.ts'
import type { Schedule } from '../api/types.ts'
import { Answer } from '../ui/answer.tsx'
import { WorkflowLink } from '../ui/link.tsx'
import { Empty } from '../ui/notice.tsx'
import { Page } from '../ui/page.tsx'
import { StateBadge } from '../ui/state-badge.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { count, span } from '../ui/wording.ts'
import { RequestsCard } from './requests-card.tsx'

type Deed = 'pause' | 'resume' | 'trigger'

const means: Readonly<Record<Deed, string>> = {
  pause: 'No workflow is started by it any more, in any process, until it is resumed. What was started goes on.',
  resume: 'It goes on with its next time.',
  trigger: 'It starts one workflow now. Its next time stays as it is.',
}

export function SchedulesPage() {
  const schedules = useSchedules()
  const mayChange = useMay('operator')
  const [asked, setAsked] = useState<{ readonly schedule: Schedule; readonly deed: Deed } | null>(null)
  const actions: Column<Schedule> = {
    name: 'Do',
    cell: schedule => (
      <span className="row-actions">
        {deedsFor(schedule).map(deed => (
          <button key={deed} type="button" onClick={() => setAsked({ schedule, deed })}>
            {names[deed]}
            <span className="unseen"> {schedule.name}</span>
          </button>
        ))}
      </span>
    ),
  }
  return (
    <Page title="Schedules" lead="Workflows that start by the clock.">
      <Answer query={schedules} what="schedules">
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="There are no schedules.">
              Declare one with <code>defineSchedule</code> and pass it to <code>new Geneva({'{ schedules }'})</code>.
            </Empty>
          ) : (
            <Table
              label="Schedules"
              columns={mayChange ? [...columns, actions] : columns}
              rows={items}
              keyOf={({ name }) => name}
            />
          )
        }
      </Answer>
      <RequestsCard about="schedule" />
      {asked && (
        <ActionDialog
          title={`${names[asked.deed]} ${asked.schedule.name}?`}
          confirm={names[asked.deed]}
          close={() => setAsked(null)}
          deed={reason => ({
            path: `schedules/${encodeURIComponent(asked.schedule.name)}/${asked.deed}`,
            body: reasonOf(reason),
            done: `${asked.schedule.name}: done.`,
          })}
        >
          <p>{means[asked.deed]}</p>
        </ActionDialog>
      )}
    </Page>
  )
}

const names: Readonly<Record<Deed, string>> = { pause: 'Pause', resume: 'Resume', trigger: 'Start now' }

function deedsFor({ paused, hasCode }: Schedule): Deed[] {
  return [paused ? 'resume' : 'pause', ...(hasCode ? (['trigger'] as const) : [])]
}

const columns: readonly Column<Schedule>[] = [
  {
    name: 'Schedule',
    wide: true,
    cell: ({ name, workflow }) => (
      <>
        <strong>{name}</strong> <span className="muted">starts {workflow}</span>
      </>
    ),
  },
  {
    name: 'When',
    cell: ({ cron, timeZone, everyMs }) =>
      cron === null ? (
        `every ${span(everyMs ?? 0)}`
      ) : (
        <>
          <code>{cron}</code> <span className="muted">{timeZone}</span>
        </>
      ),
  },
  { name: 'Next', cell: next },
  {
    name: 'Last',
    cell: ({ lastTickAt, lastWorkflowId }) => (
      <>
        <Time at={lastTickAt} /> {lastWorkflowId !== null && <WorkflowLink id={lastWorkflowId} />}
      </>
    ),
  },
  { name: 'Started', cell: ({ started }) => count(started), numeric: true },
  { name: 'Left out', cell: ({ skipped }) => count(skipped), numeric: true },
  {
    name: 'Trouble',
    cell: ({ lastError, hasCode }) => lastError ?? (hasCode ? '' : 'the code is not in this process'),
  },
]

/** When it is due; of one that is paused who has paused it, and why. */
function next({ nextAt, paused, pausedBy, pauseReason }: Schedule) {
  if (!paused) return <Time at={nextAt} />
  const why = [pausedBy === null ? '' : `by ${pausedBy}`, pauseReason ?? ''].filter(text => text !== '').join(': ')
  return (
    <>
      <StateBadge state="paused" /> <span className="muted">{why}</span>
    </>
  )
}
