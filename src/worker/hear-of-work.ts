/**
 * Where a worker hears that something may be due, or is to be stopped: in its own process at once, and from others where the
 * database passes word. To those it listens if it has not just done so: where much is going on, it looks often enough by itself.
 */
import type { Engine } from '../engine/engine.ts'
import type { Hint } from '../store/hints.ts'

const momentMs = 50

interface Hearing {
  /** `codeless`: also what any worker may run, whatever code it has. */
  work(codeless: boolean): void
  stop(): void
}

/** Until the returned function is called. */
export function hearOfWork({ ends, store }: Engine, { work, stop }: Hearing): () => void {
  const unsubscribe = ends.onWork(work)
  const heard = new Set<Hint>()
  let timer: NodeJS.Timeout | null = null
  const heed = () => {
    timer = heard.size > 0 ? setTimeout(heed, momentMs) : null
    if (heard.has('stop')) stop()
    if (heard.has('work') || heard.has('codeless')) work(heard.has('codeless'))
    heard.clear()
  }
  const turnAway = store.hints?.listen(hint => {
    heard.add(hint)
    if (timer === null) heed()
  })
  return () => {
    unsubscribe()
    turnAway?.()
    if (timer !== null) clearTimeout(timer)
  }
}
