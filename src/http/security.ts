/**
 * What every request and every answer is held to, whatever its route: where it may come from, who sends it, and what a
 * browser may do with the answer.
 */
import type { Caller, HandlerSettings, Role, RouteClaim } from '../client/handler-options.ts'
import { isNotedLocal } from './local-requests.ts'
import { isLoopbackHost } from './loopback.ts'
import { RequestProblem } from './request-problem.ts'

const ranks: Readonly<Record<Role, number>> = { reader: 1, operator: 2, admin: 3 }

/** Nothing that an answer holds may run, load or be shown inside another page. */
const apiPolicy = "default-src 'none'; frame-ancestors 'none'; sandbox"
export const pagePolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
  "manifest-src 'self'; base-uri 'self'; form-action 'none'; frame-ancestors 'none'"

export function securityHeaders(policy: string = apiPolicy): Record<string, string> {
  return {
    'content-security-policy': policy,
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'referrer-policy': 'no-referrer',
    'cross-origin-resource-policy': 'same-origin',
    'cross-origin-opener-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=()',
    'cache-control': 'no-store',
  }
}

/**
 * Without `authorize` whoever reaches the handler may do everything, so only this machine may: over a connection that was
 * looked at, by the name under which it was called, because a page elsewhere can make a browser resolve its own name to this
 * machine, and not through a proxy that says so.
 */
export function checkOrigin(request: Request, { authorize }: Pick<HandlerSettings, 'authorize'>): void {
  if (authorize === null) checkLocal(request)
  if (request.method === 'GET' || request.method === 'HEAD') return
  const site = request.headers.get('sec-fetch-site')
  if (site !== null && site !== 'same-origin' && site !== 'none') throw crossOrigin()
  const origin = request.headers.get('origin')
  if (origin !== null && hostOf(origin) !== hostOfRequest(request)) throw crossOrigin()
}

function checkLocal(request: Request): void {
  if (!isNotedLocal(request)) {
    throw localOnly(
      'Without authorize only requests from this machine are answered, and a handler that is called directly cannot tell where a request comes from.',
      'Give geneva.handler an authorize function, or serve it with serveHandler or toNodeHandler, which look at the connection.',
    )
  }
  const forwarded = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via']
  const proxied = forwarded.some(name => request.headers.has(name))
  const host = hostOfRequest(request)
  const name = host === null ? null : host.replace(/:\d+$/, '')
  if (!proxied && name !== null && isLoopbackHost(name)) return
  throw localOnly(
    'Without authorize only requests from this machine are answered, under a name such as localhost.',
    'Give geneva.handler an authorize function.',
  )
}

function localOnly(message: string, remedy: string): RequestProblem {
  return new RequestProblem(403, 'LOCAL_ONLY', message, remedy)
}

function crossOrigin(): RequestProblem {
  return new RequestProblem(403, 'CROSS_ORIGIN', 'Changes may be asked for from the same origin only.')
}

function hostOfRequest(request: Request): string | null {
  return request.headers.get('host')?.toLowerCase() ?? hostOf(request.url)
}

function hostOf(url: string): string | null {
  return URL.canParse(url) ? new URL(url).host : null
}

/** Who asks, or the answer that `authorize` gives instead. Throws 401 for nobody, 403 for a role that is not enough. */
export async function callerOf(
  request: Request,
  claim: RouteClaim,
  { authorize, readOnly }: Pick<HandlerSettings, 'authorize' | 'readOnly'>,
): Promise<Caller | Response> {
  const found = authorize === null ? local : await authorize(request, claim)
  if (found instanceof Response) return found
  if (found === null || found === undefined) {
    throw new RequestProblem(401, 'UNAUTHORIZED', 'Nobody is known to send this request.', 'Sign in.')
  }
  const { by } = found
  const role = readOnly ? 'reader' : found.role
  if (typeof by !== 'string' || by === '' || by.length > 191 || ranks[role] === undefined) {
    throw new Error(
      'authorize must return { role, by } with a role of reader, operator or admin and a name of 1 to 191 characters.',
    )
  }
  if (ranks[role] >= ranks[claim.role]) return { role, by }
  throw new RequestProblem(403, 'FORBIDDEN', `A ${role} may not do this: ${claim.action} takes the role ${claim.role}.`)
}

const local: Caller = { role: 'admin', by: 'local' }

export function allows(role: Role, needed: Role): boolean {
  return ranks[role] >= ranks[needed]
}
