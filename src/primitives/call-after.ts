/** A timer for any length of time. One of Node's holds no more than 24.8 days; given more, it fires at once. */

/** The longest delay that a timer of Node can hold. */
const longestTimerMs = 2 ** 31 - 1

/** Calls `action` once after `ms`, however long that is, unless the function that it returns is called before. */
export function callAfter(ms: number, action: () => void): () => void {
  let timer: NodeJS.Timeout
  const wait = (left: number) => {
    const part = left > 0 ? Math.min(left, longestTimerMs) : 0
    timer = setTimeout(() => (left > part ? wait(left - part) : action()), part)
  }
  wait(ms)
  return () => clearTimeout(timer)
}
