/** Waiting that an abort signal can end early. It never rejects: whoever waits looks at the signal afterwards. */

import { callAfter } from './call-after.ts'

/** Resolves after `ms`, and as soon as the signal aborts. Leaves no listener behind. */
export function pauseFor(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve()
  return new Promise(resolve => {
    const done = () => {
      cancel()
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const cancel = callAfter(ms, done)
    signal?.addEventListener('abort', done, { once: true })
  })
}

/** Returns `ms` plus up to that fraction of it, never less, so that a backoff keeps its lower bound. Whole stays whole. */
export function jittered(ms: number, fraction = 0.1): number {
  return ms + Math.floor(Math.random() * ms * fraction)
}
