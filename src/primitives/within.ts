/** Waiting for work, but not for ever. */

import { callAfter } from './call-after.ts'

/** Resolves when the work is done or the time is over, whichever comes first. Rejects as the work does. */
export async function within(work: Promise<unknown>, ms: number): Promise<void> {
  let cancel = () => {}
  const over = new Promise<void>(resolve => {
    cancel = callAfter(ms, resolve)
  })
  try {
    await Promise.race([work, over])
  } finally {
    cancel()
  }
}
