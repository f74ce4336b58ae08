/** Moments and lengths of time. What is shown is short; the exact moment and its zone are there on hover and for machines. */
import { useNow } from './now.ts'
import { exactText, momentText, relative, span } from './wording.ts'

/** A moment relative to now. */
export function Time({ at }: { readonly at: string | null | undefined }) {
  const now = useNow()
  if (!at) return <span className="muted">–</span>
  return (
    <time dateTime={at} title={exactText(at)}>
      {relative(at, now)}
    </time>
  )
}

/** A moment in a record or a sentence, where the order and the exact time matter. */
export function Moment({ at }: { readonly at: string }) {
  const now = useNow()
  return (
    <time dateTime={at} title={`${relative(at, now)}: ${exactText(at)}`}>
      {momentText(at, now)}
    </time>
  )
}

/** How long something took, or has taken so far. */
export function Took({ from, to }: { readonly from: string | null; readonly to: string | null }) {
  const now = useNow()
  if (from === null) return <span className="muted">–</span>
  const ms = (to === null ? now : new Date(to).getTime()) - new Date(from).getTime()
  return <span className={to === null ? 'running' : undefined}>{span(Math.max(0, ms))}</span>
}
