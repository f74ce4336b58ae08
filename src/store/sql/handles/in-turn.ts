/**
 * Lets callers that share a handle go one after another: the statements of two starts must not mix on one
 * connection, where savepoints nest and the server remembers only the last id it gave.
 */

/** The end of the queue for each handle. */
const queues = new WeakMap<object, Promise<unknown>>()

export function inTurn<T>(handle: object, work: () => Promise<T>): Promise<T> {
  const result = (queues.get(handle) ?? Promise.resolve()).then(work)
  queues.set(
    handle,
    result.catch(() => {}),
  )
  return result
}
