/** One way to the HTTP API: relative to where the page lies, JSON only, and errors that carry their remedy. */

/** Where the dashboard is mounted, with a slash at the end: the page's own folder. */
export const base: string = new URL('.', document.baseURI).pathname

export class ApiError extends Error {
  readonly status: number
  readonly code: string
  readonly remedy: string | null

  constructor(status: number, code: string, message: string, remedy: string | null) {
    super(message)
    this.status = status
    this.code = code
    this.remedy = remedy
  }
}

export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | null | undefined>>

export function get<T>(path: string, query: Query = {}): Promise<T> {
  return send<T>(address(path, query), { method: 'GET' })
}

export function post<T>(path: string, body: object = {}): Promise<T> {
  const headers = { 'content-type': 'application/json' }
  return send<T>(address(path), { method: 'POST', headers, body: JSON.stringify(body) })
}

/** Values are left out when they are empty; arrays are repeated. */
export function address(path: string, query: Query = {}): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== null && each !== undefined && each !== '') search.append(name, String(each))
    }
  }
  const text = search.toString()
  return `${base}api/${path}${text === '' ? '' : `?${text}`}`
}

async function send<T>(url: string, init: RequestInit): Promise<T> {
  let response: Response
  try {
    response = await fetch(url, { ...init, credentials: 'same-origin' })
  } catch {
    const running = 'Is the process that serves this page running?'
    const remedy = init.method === 'POST' ? `${running} What you asked for may have happened: look first.` : running
    throw new ApiError(0, 'UNREACHABLE', 'The server does not answer.', remedy)
  }
  const text = await response.text()
  const body = parsed(text)
  if (response.ok) return body as T
  const { error } = (body ?? {}) as { error?: { code?: string; message?: string; remedy?: string } }
  const message = error?.message ?? `The server answered with ${response.status}.`
  throw new ApiError(response.status, error?.code ?? 'UNKNOWN', message, error?.remedy ?? null)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
