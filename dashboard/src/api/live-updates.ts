/**
 * One event stream for the whole page. What it says is only a hint: the queries concerned are asked again, at most once a
 * second however many hints come, and not while the page is hidden.
 */
import type { QueryClient } from '@tanstack/react-query'
import { address } from './request.ts'

export type LiveState = 'connecting' | 'live' | 'broken'

const everyMs = 1000
const reopenMs = 10_000
/** Looking again may take no more than so much of the time: a large graph is read anew less often. */
const share = 5

/** Calls `tell` when the stream comes and goes. Returns what ends it. */
export function followChanges(
  client: QueryClient,
  workflowId: string | null,
  tell: (state: LiveState) => void,
): () => void {
  let timer: ReturnType<typeof setTimeout> | null = null
  let due = false
  tell('connecting')
  let source = open()
  let reopening: ReturnType<typeof setTimeout> | null = null
  document.addEventListener('visibilitychange', look)

  return () => {
    if (timer !== null) clearTimeout(timer)
    document.removeEventListener('visibilitychange', look)
    if (reopening !== null) clearTimeout(reopening)
    source.close()
  }

  function open(): EventSource {
    const opened = new EventSource(address('stream', { workflow: workflowId ?? 'overview' }))
    opened.onopen = () => {
      tell('live')
      // What happened while there was no stream is not told again.
      note()
    }
    opened.onerror = () => {
      tell('broken')
      // A browser goes on by itself after a cut, but not after an answer that was no stream.
      if (opened.readyState === EventSource.CLOSED) reopening = setTimeout(() => (source = open()), reopenMs)
    }
    opened.addEventListener('change', note)
    return opened
  }

  function note(): void {
    due = true
    look()
  }

  /** The first hint acts at once; those of the next second are taken together. */
  function look(): void {
    if (!due || timer !== null || document.hidden) return
    due = false
    const begun = performance.now()
    rest(everyMs)
    void client.invalidateQueries({ predicate: query => query.meta?.still !== true }).then(() => {
      if (timer !== null) rest(Math.max(0, begun + everyMs - performance.now(), (performance.now() - begun) * share))
    })
  }

  function rest(ms: number): void {
    if (timer !== null) clearTimeout(timer)
    timer = setTimeout(() => {
      timer = null
      look()
    }, ms)
  }
}
