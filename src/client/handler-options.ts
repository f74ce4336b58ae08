/**
 * What `geneva.handler` takes and returns. The HTTP API itself is loaded with the first request, so an application that
 * has none does not pay for it.
 */
import { InvalidArgumentError } from '../errors.ts'
import { type Duration, toMilliseconds } from '../primitives/duration.ts'
import { refuseUnknownOptions } from '../primitives/refuse-unknown-options.ts'

/** Who may do what: a reader looks, an operator steers single workflows, an admin may do what cannot be taken back. */
export type Role = 'reader' | 'operator' | 'admin'

export interface Caller {
  readonly role: Role
  /** Who it is. Recorded with everything that is changed. */
  readonly by: string
}

/** What a request asks for, as its route declares it. */
export interface RouteClaim {
  /** Such as `workflow.cancel`. */
  readonly action: string
  /** What it is about, such as `workflow:42`; `*` for all. */
  readonly resource: string
  /** The role that it takes. */
  readonly role: Role
}

/**
 * Says who a request comes from. `null` refuses it with 401; a Response, such as a redirect to a login, is sent as it is. What
 * the role does not allow is refused with 403 afterwards.
 */
export type Authorize = (
  request: Request,
  claim: RouteClaim,
) => Caller | Response | null | Promise<Caller | Response | null>

export interface HandlerOptions {
  /**
   * Without it only requests from this machine are answered, and whoever sends them is an admin called `local`. That takes
   * `serveHandler` or `toNodeHandler`, which look at the connection: a handler that is called directly answers 403.
   */
  readonly authorize?: Authorize
  /** The path under which it is mounted, such as `/ops`. Default: the root. */
  readonly basePath?: string
  /** Serves the dashboard beside the API. Default true. */
  readonly dashboard?: boolean
  /** Nobody is more than a reader. */
  readonly readOnly?: boolean
  /** How large the body of a request may be. Default 1 MB. */
  readonly maxBodyBytes?: number
  /** How long a request may take. Default 10 seconds. */
  readonly timeout?: Duration
  /** How many live streams may be open at once. Default 200. */
  readonly maxStreams?: number
}

export interface HandlerSettings extends Required<Omit<HandlerOptions, 'authorize' | 'timeout'>> {
  readonly authorize: Authorize | null
  readonly timeoutMs: number
}

/** A function from request to response, which every framework can call. */
export interface FetchHandler {
  (request: Request): Promise<Response>
  /** It has no `authorize`, so it must not be reachable from elsewhere. */
  readonly localOnly: boolean
}

type Handle = (request: Request) => Promise<Response>

/** `load` is called with the first request. Mistakes in the options are thrown at once. */
export function lazyHandler(
  options: HandlerOptions,
  load: (settings: HandlerSettings) => Promise<Handle>,
): FetchHandler {
  const settings = settingsFrom(options)
  let loaded: Promise<Handle> | null = null
  const handle = async (request: Request) => {
    loaded ??= load(settings)
    return (await loaded)(request)
  }
  return Object.assign(handle, { localOnly: settings.authorize === null })
}

const known: Readonly<Record<keyof HandlerOptions, string>> = {
  authorize: 'function',
  basePath: 'string',
  dashboard: 'boolean',
  readOnly: 'boolean',
  maxBodyBytes: 'number',
  timeout: 'duration',
  maxStreams: 'number',
}

function settingsFrom(options: HandlerOptions): HandlerSettings {
  refuseUnknownOptions('geneva.handler', options, Object.keys(known))
  for (const [name, value] of Object.entries(options)) {
    const type = known[name as keyof HandlerOptions]
    if (value === undefined || type === 'duration' || typeof value === type) continue
    throw new InvalidArgumentError(`The option ${name} of geneva.handler must be a ${type}, not ${typeof value}.`)
  }
  const { authorize = null, dashboard = true, readOnly = false, timeout = '10s' } = options
  return {
    authorize,
    basePath: basePathFrom(options.basePath ?? ''),
    dashboard,
    readOnly,
    maxBodyBytes: positive(options.maxBodyBytes ?? 1024 * 1024, 'maxBodyBytes'),
    timeoutMs: positive(toMilliseconds(timeout, 'The timeout of geneva.handler'), 'timeout'),
    maxStreams: positive(options.maxStreams ?? 200, 'maxStreams'),
  }
}

function basePathFrom(path: string): string {
  const trimmed = path.replace(/\/+$/, '')
  if (trimmed === '' || /^(\/[\w.~-]+)+$/.test(trimmed)) return trimmed
  throw new InvalidArgumentError(
    `The basePath ${JSON.stringify(path)} is not one: begin with a slash, and use letters, digits and .~-_ alone.`,
  )
}

function positive(value: number, name: string): number {
  if (Number.isSafeInteger(value) && value > 0) return value
  throw new InvalidArgumentError(`The option ${name} of geneva.handler must be a whole number above 0.`)
}
