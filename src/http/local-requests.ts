/**
 * Requests that came over a connection of this machine. What a request says of itself is chosen by whoever sends it, so only
 * the side that has the connection may note it here.
 */
const noted = new WeakSet<Request>()

/** To be called once the other end of the connection is known to be this machine. */
export function noteLocal(request: Request): Request {
  noted.add(request)
  return request
}

export function isNotedLocal(request: Request): boolean {
  return noted.has(request)
}
