/** Where the bars of a timeline stand: when each attempt waited and ran, as shares of one stretch of time. */
import type { Attempt } from '../api/types.ts'

type Times = Pick<Attempt, 'state' | 'createdAt' | 'scheduledFor' | 'startedAt' | 'endedAt'>

export interface Bar<Shown extends Times = Attempt> {
  readonly attempt: Shown
  readonly from: number
  /** Until then it has waited. */
  readonly began: number
  readonly to: number
}

/** What has not begun is a point at the time it is due, or now if that is past. What waits for somebody waits until now. */
export function barOf<Shown extends Times>(attempt: Shown, now: number): Bar<Shown> {
  const created = time(attempt.createdAt) ?? now
  const started = time(attempt.startedAt)
  const ended = time(attempt.endedAt)
  if (attempt.state === 'waiting')
    return { attempt, from: created, began: Math.max(now, created), to: Math.max(now, created) }
  const began = started ?? ended ?? Math.max(time(attempt.scheduledFor) ?? now, now)
  const to = ended ?? (started === null ? began : Math.max(now, began))
  return { attempt, from: Math.min(created, began), began, to: Math.max(to, began) }
}

export interface Place {
  readonly x: string
  readonly width: string
}

/** So much of the width is the least that can be seen. */
const thinnest = 0.4

/** What is too short to be seen is drawn a little wider, and moved to the left where there is no room for that. */
export function placeOf(
  from: number,
  to: number,
  { first, last }: { readonly first: number; readonly last: number },
): Place {
  const share = (time: number) => (time / Math.max(1, last - first)) * 100
  const width = Math.max(thinnest, share(to - from))
  return { x: `${Math.min(share(from - first), 100 - width).toFixed(2)}%`, width: `${width.toFixed(2)}%` }
}

function time(iso: string | null): number | null {
  return iso === null ? null : new Date(iso).getTime()
}
