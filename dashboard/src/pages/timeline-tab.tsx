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
import { barOf, placeOf } from './timeline-bars.ts'

/** A shorter wait is no news. */
const worthTellingMs = 1000

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
  const place = (from: number, to: number) => placeOf(from, to, { first, last })
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
              <rect className="timeline-wait" {...place(from, began)} y="6" height="4" rx="2" />
              <rect
                className={`timeline-run tone-${lookOf(attempt.state).tone}`}
                {...place(began, to)}
                y="2"
                height="12"
                rx="3"
              />
            </svg>
            <span className="timeline-facts">
              <StateBadge state={attempt.state} /> {began - from >= worthTellingMs && `waited ${span(began - from)}, `}
              {span(to - began)}
            </span>
          </li>
        ))}
      </ol>
    </div>
  )
}
