/** One clock for every relative time on the page, so that they tick together. */
import { useSyncExternalStore } from 'react'

let now = Date.now()
const listeners = new Set<() => void>()
setInterval(() => {
  if (document.hidden) return
  now = Date.now()
  for (const listener of listeners) listener()
}, 1000)

/** The time to the second. */
export function useNow(): number {
  return useSyncExternalStore(
    listener => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => now,
  )
}
