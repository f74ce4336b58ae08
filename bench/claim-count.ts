/** Writes down the claims that go through a store: when each came back, and with how many executions. */
import type { Store } from '../src/store/store.ts'

export interface Claim {
  /** Milliseconds since 1970, so that several processes can be compared. */
  readonly at: number
  readonly found: number
  readonly ms: number
}

export class ClaimCount {
  readonly all: Claim[] = []

  constructor(store: Store) {
    const claim = store.claim.bind(store)
    store.claim = async request => {
      const begun = performance.now()
      const claimed = await claim(request)
      const now = performance.now()
      // Nothing to ask for is no claim, and timers are looked for by the clock.
      const isForSteps = request.sources.some(({ queue }) => queue === 'default')
      if (isForSteps) this.all.push({ at: performance.timeOrigin + now, found: claimed.length, ms: now - begun })
      return claimed
    }
  }
}
