/** Newer and older pages of a list. The server only knows the way on, so the way back is remembered here. */
import { useState } from 'react'

export interface Paging {
  readonly cursor: string | null
  readonly page: number
  readonly next: (cursor: string) => void
  readonly back: () => void
}

/** Begins anew whenever `of` changes: another filter has other pages. */
export function usePaging(of: string): Paging {
  const [trail, setTrail] = useState<{ of: string; cursors: readonly string[] }>({ of, cursors: [] })
  const cursors = trail.of === of ? trail.cursors : []
  return {
    cursor: cursors.at(-1) ?? null,
    page: cursors.length + 1,
    next: cursor => setTrail({ of, cursors: [...cursors, cursor] }),
    back: () => setTrail({ of, cursors: cursors.slice(0, -1) }),
  }
}

export function Pager({ paging, next }: { readonly paging: Paging; readonly next: string | null | undefined }) {
  if (paging.page === 1 && !next) return null
  return (
    <nav className="pager" aria-label="Pages">
      <button type="button" disabled={paging.page === 1} onClick={paging.back}>
        Previous
      </button>
      <span aria-live="polite">Page {paging.page}</span>
      <button type="button" disabled={!next} onClick={() => next && paging.next(next)}>
        Next
      </button>
    </nav>
  )
}
