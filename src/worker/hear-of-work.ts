/**
 * Where a worker hears that something may be due, or is to be stopped: in its own process at once, and from others where the
 * database passes word. To those it listens less the more often it found nothing: all workers hear the same, and one is enough.
 */
import type { Engine } from '../engine/engine.ts'
import { Gathering } from '../primitives/gathering.ts'
import type { Hint } from '../store/hints.ts'

/** How long a worker does not listen after word; twice as long as before if the word before that was in vain. */
const shortestMs = 5
/** By then it has looked by itself, most likely. */
const longestMs = 200
/** What is to be stopped may be in any worker, so all of them look. */
const stopMs = 50

interface Hearing {
  /** `codeless`: also what any worker may run, whatever code it has. */
  work(codeless: boolean): void
  stop(): void
  /** How much the worker has ever claimed. */
  claimed(): number
}

/** Until the returned function is called. */
export function hearOfWork({ ends, store }: Engine, hearing: Hearing): () => void {
  const unsubscribe = ends.onWork(hearing.work)
  let restMs = shortestMs
  let claimed = -1
  const working = new Gathering<Hint>(heard => {
    restMs = hearing.claimed() > claimed ? shortestMs : Math.min(2 * restMs, longestMs)
    claimed = hearing.claimed()
    hearing.work(heard.has('codeless'))
    return restMs
  })
  const stopping = new Gathering<Hint>(() => {
    hearing.stop()
    return stopMs
  })
  const turnAway = store.hints?.listen(hint => (hint === 'stop' ? stopping : working).tell(hint))
  return () => {
    unsubscribe()
    turnAway?.()
    working.close()
    stopping.close()
  }
}
