/** Every change of one workflow, page by page. */
import { useEvents } from '../api/queries.ts'
import { Answer } from '../ui/answer.tsx'
import { Empty } from '../ui/notice.tsx'
import { Pager, usePaging } from '../ui/pager.tsx'
import { EventList } from './event-list.tsx'

export function EventsTab({ id }: { readonly id: string }) {
  const paging = usePaging(id)
  const events = useEvents(id, paging.cursor)
  return (
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
  )
}
