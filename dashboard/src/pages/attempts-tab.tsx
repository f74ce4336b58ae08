/** Every attempt, page by page. */
import { useHistory } from '../api/queries.ts'
import { Answer } from '../ui/answer.tsx'
import { Empty } from '../ui/notice.tsx'
import { Pager, usePaging } from '../ui/pager.tsx'
import { AttemptCard } from './attempt-card.tsx'

export function AttemptsTab({ id }: { readonly id: string }) {
  const paging = usePaging(id)
  const history = useHistory(id, paging.cursor)
  return (
    <Answer query={history} what="attempts">
      {({ items, nextCursor }) =>
        items.length === 0 ? (
          <Empty title="Nothing has been attempted yet." />
        ) : (
          <>
            <ol className="attempts">
              {items.map(attempt => (
                <AttemptCard key={attempt.id} attempt={attempt} />
              ))}
            </ol>
            <Pager paging={paging} next={nextCursor} />
          </>
        )
      }
    </Answer>
  )
}
