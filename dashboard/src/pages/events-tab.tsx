/** Every change of one workflow, page by page: what has just happened first, or from the beginning. */
import { useState } from 'react'
import { type EventOrder, useEvents } from '../api/queries.ts'
import { Answer } from '../ui/answer.tsx'
import { Empty } from '../ui/notice.tsx'
import { Pager, usePaging } from '../ui/pager.tsx'
import { EventList } from './event-list.tsx'

const orders: readonly (readonly [EventOrder, string])[] = [
  ['newest', 'Newest first'],
  ['oldest', 'From the beginning'],
]

export function EventsTab({ id }: { readonly id: string }) {
  const [order, setOrder] = useState<EventOrder>('newest')
  const paging = usePaging(`${id} ${order}`)
  const events = useEvents(id, order, paging.cursor)
  return (
    <>
      <fieldset className="choice list-order">
        <legend className="unseen">Order of the events</legend>
        {orders.map(([value, label]) => (
          <label key={value}>
            <input type="radio" name="event-order" checked={order === value} onChange={() => setOrder(value)} />
            {label}
          </label>
        ))}
      </fieldset>
      <Answer query={events} what="events">
        {({ items, nextCursor }) =>
          items.length === 0 ? (
            <Empty title="No events are kept of this workflow." />
          ) : (
            <>
              <EventList events={items} />
              <Pager paging={paging} next={nextCursor} />
            </>
          )
        }
      </Answer>
    </>
  )
}
