/**
 * Where the person is: a path and a query behind the `#`. So the server needs to know nothing of pages, and the dashboard
 * works under any address it is mounted at.
 */
import { useSyncExternalStore } from 'react'

export interface Route {
  /** Decoded, without empty ones. */
  readonly segments: readonly string[]
  readonly query: URLSearchParams
}

export function useRoute(): Route {
  return parseRoute(useSyncExternalStore(subscribe, () => location.hash))
}

export function parseRoute(hash: string): Route {
  const [path = '', search = ''] = hash.replace(/^#/, '').split('?', 2)
  const segments = path.split('/').filter(Boolean).map(decoded)
  return { segments, query: new URLSearchParams(search) }
}

/** The address of a page: `href('workflows', id)`. */
export function href(...segments: readonly (string | number)[]): string {
  return `#/${segments.map(segment => encodeURIComponent(segment)).join('/')}`
}

export function withQuery(address: string, query: Readonly<Record<string, string | readonly string[]>>): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    for (const each of typeof value === 'string' ? [value] : value) if (each !== '') search.append(name, each)
  }
  const text = search.toString()
  return text === '' ? address : `${address}?${text}`
}

export function navigate(address: string): void {
  location.hash = address
}

/** For changes of a filter: the way back leads out of the page, not through every letter typed. */
export function replaceRoute(address: string): void {
  history.replaceState(null, '', address)
  dispatchEvent(new HashChangeEvent('hashchange'))
}

function subscribe(changed: () => void): () => void {
  addEventListener('hashchange', changed)
  return () => removeEventListener('hashchange', changed)
}

/** A person may have typed anything. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
