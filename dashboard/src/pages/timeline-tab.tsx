/** When each attempt waited and ran, as bars on one scale, with the same in words. */
import { useHistory } from '../api/queries.ts'
import type { Attempt } from '../api/types.ts'
import { plainName } from '../graph/describe-node.ts'
import { Answer } from '../ui/answer.tsx'
import { Empty } from '../ui/notice.tsx'
import { useNow } from '../ui/now.ts'
import { Pager, usePaging } from '../ui/pager.tsx'
import { StateBadge } from '../ui/state-badge.tsx'
import { lookOf } from '../ui/state-look.ts'
import { Moment } from '../ui/time.tsx'
import { span } from '../ui/wording.ts'

export function TimelineTab({ id }: { readonly id: string }) {
  const paging = usePaging(id)
  const history = useHistory(id, paging.cursor)
  return (
    <Answer query={history} what="the timeline">
      {({ items, nextCursor }) =>
        items.length === 0 ? (
          <Empty title="Nothing has happened yet." />
        ) : (
          <>
            <Bars attempts={items} />
            <Pager paging={paging} next={nextCursor} />
          </>
        )
      }
    </Answer>
  )
}

function Bars({ attempts }: { readonly attempts: readonly Attempt[] }) {
  const now = useNow()
  const bars = attempts.map(attempt => barOf(attempt, now)).toSorted((a, b) => a.from - b.from)
  const first = Math.min(...bars.map(({ from }) => from))
  const last = Math.max(...bars.map(({ to }) => to), first + 1)
  const share = (time: number) => `${(((time - first) / (last - first)) * 100).toFixed(2)}%`
  const width = (from: number, to: number) => `${Math.max(0.4, ((to - from) / (last - first)) * 100).toFixed(2)}%`
  return (
    <div className="timeline">
      <p className="timeline-scale">
        <Moment at={new Date(first).toISOString()} />
        <span>{span(last - first)}</span>
        <Moment at={new Date(last).toISOString()} />
      </p>
      <ol>
        {bars.map(({ attempt, from, began, to }) => (
          <li key={attempt.id}>
            <span className="timeline-name">
              {attempt.kind === 'compensate' ? `undo ${attempt.name}` : plainName(attempt.name)}
              {attempt.attempt > 1 && <span className="muted"> #{attempt.attempt}</span>}
            </span>
            <svg width="100%" height="16" aria-hidden="true" focusable="false">
              <rect className="timeline-wait" x={share(from)} y="6" width={width(from, began)} height="4" rx="2" />
              <rect
                className={`timeline-run tone-${lookOf(attempt.state).tone}`}
                x={share(began)}
                y="2"
                width={width(began, to)}
                height="12"
                rx="3"
              />
            </svg>
            <span className="timeline-facts">
              <StateBadge state={attempt.state} /> {span(to - began)}
            </span>
          </li>
        ))}
      </ol>
    </div>
  )
}

interface Bar {
  readonly attempt: Attempt
  readonly from: number
  readonly began: number
  readonly to: number
}

/** What has not begun is a point at the time it is due, or now if that is past. */
function barOf(attempt: Attempt, now: number): Bar {
  const due = time(attempt.scheduledFor) ?? time(attempt.startedAt) ?? time(attempt.endedAt) ?? now
  const started = time(attempt.startedAt)
  const ended = time(attempt.endedAt)
  const began = started ?? ended ?? Math.max(due, now)
  const to = ended ?? (started === null ? began : Math.max(now, began))
  return { attempt, from: Math.min(due, began), began, to }
}

function time(iso: string | null): number | null {
  return iso === null ? null : new Date(iso).getTime()
}
