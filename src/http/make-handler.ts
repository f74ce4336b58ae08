/**
 * The HTTP API as one function from request to response. Every request goes the same way: where it comes from, what it asks
 * for, who asks, whether it is well formed, and only then what its route does.
 */
import { type Context, Hono } from 'hono'
import type { z } from 'zod'
import type { HandlerSettings } from '../client/handler-options.ts'
import type { Operations } from '../client/operations.ts'
import { callAfter } from '../primitives/call-after.ts'
import { DashboardFiles } from './dashboard-files.ts'
import { LiveStreams } from './live-stream.ts'
import { readBody } from './read-body.ts'
import { problemBody, problemFrom, RequestProblem } from './request-problem.ts'
import { type Call, type Params, paramsOf, type Route, resourceOf } from './route.ts'
import { routeTable } from './route-table.ts'
import { callerOf, checkOrigin, securityHeaders } from './security.ts'
import { SharedAnswers } from './shared-answers.ts'

const maxUrlLength = 8192
const maxParamLength = 400

/** What to do when no answer comes in time. Who asks for a change a second time may get it twice. */
const whenLate = {
  GET: 'Ask for less, or try again.',
  POST: 'It may still happen. Look before you ask again, or send the same idempotencyKey (of a signal: key) again.',
} as const

export function makeHandler(
  geneva: Operations,
  settings: HandlerSettings,
  report: (error: unknown) => void,
): (request: Request) => Promise<Response> {
  const app = new Hono().basePath(settings.basePath === '' ? '/' : settings.basePath)
  const shared = new SharedAnswers()
  const streams = new LiveStreams(settings.maxStreams, () => shared.clear())
  const parts: Parts = { geneva, settings, report, shared, streams }
  for (const route of routeTable(streams)) {
    app.on(route.method, `/api${route.path}`, context => answer(parts, route, context))
  }
  app.all('/api', context => undeclared(parts, context.req.raw))
  app.all('/api/*', context => undeclared(parts, context.req.raw))
  const files = settings.dashboard ? new DashboardFiles() : null
  app.all('/*', context => page(parts, files, context.req.raw))
  app.notFound(() => jsonOf(problemBody(notFound()), 404))
  app.onError(error => refusal(parts, error))
  return async request => {
    if (request.url.length > maxUrlLength) return jsonOf(problemBody(tooLong()), 414)
    return app.fetch(request)
  }
}

interface Parts {
  readonly geneva: Operations
  readonly settings: HandlerSettings
  readonly report: (error: unknown) => void
  readonly shared: SharedAnswers
  readonly streams: LiveStreams
}

async function answer(parts: Parts, route: Route, context: Context): Promise<Response> {
  const { settings } = parts
  const request = context.req.raw
  try {
    checkOrigin(request, settings)
    const params = paramsFrom(route, context)
    const claim = { action: route.action, resource: resourceOf(route, params), role: route.role }
    const caller = await callerOf(request, claim, settings)
    if (caller instanceof Response) return caller
    const query = parsed(route.query, queryOf(request.url), 'query')
    const body = route.method === 'GET' ? {} : await readBody(request, settings.maxBodyBytes)
    const call = { ...parts, ...caller, params, query, request, readOnly: settings.readOnly }
    const work = answerFor(parts, route, { ...call, body: parsed(route.body, body, 'body') })
    return await inTime(work, route.patienceMs ?? settings.timeoutMs, whenLate[route.method])
  } catch (error) {
    return refusal(parts, error)
  }
}

/** Looked up once for all who ask the same at the same time, while several watch. */
async function answerFor({ shared, streams }: Parts, route: Route, call: Call): Promise<Response> {
  const { method, answerType, personal } = route
  if (method === 'POST') {
    shared.clear()
    const result = await route.run(call)
    shared.clear()
    return jsonOf(result, 200)
  }
  if (answerType !== undefined) {
    const result = await route.run(call)
    if (result instanceof Response) return result
    return new Response(String(result), { headers: { ...securityHeaders(), 'content-type': answerType } })
  }
  const look = async () => JSON.stringify(await route.run(call))
  const { pathname, search } = new URL(call.request.url)
  const isShared = personal !== true && streams.size > 1
  const text = isShared ? await shared.get(`${call.role} ${pathname}${search}`, look) : await look()
  const isDown = route.action === 'health.read' && text.includes('"ready":false')
  return jsonText(text, isDown ? 503 : 200)
}

/** Whatever is under `/api` and not in the table. */
function undeclared(parts: Parts, request: Request): Response {
  try {
    checkOrigin(request, parts.settings)
  } catch (error) {
    return refusal(parts, error)
  }
  const problem = new RequestProblem(403, 'NOT_DECLARED', 'There is no such route.', 'GET api/openapi.json lists all.')
  return jsonOf(problemBody(problem), 403)
}

/** The dashboard holds nothing that is not public, but it is shown only to those who may look. */
async function page(parts: Parts, files: DashboardFiles | null, request: Request): Promise<Response> {
  try {
    checkOrigin(request, parts.settings)
    if (request.method !== 'GET' && request.method !== 'HEAD') throw notFound()
    const claim = { action: 'dashboard.read', resource: '*', role: 'reader' } as const
    const caller = await callerOf(request, claim, parts.settings)
    if (caller instanceof Response) return caller
    const { basePath } = parts.settings
    const path = new URL(request.url).pathname.slice(basePath.length) || '/'
    const found = await files?.answer(path, basePath)
    if (found) return found
    throw notFound()
  } catch (error) {
    return refusal(parts, error)
  }
}

function refusal({ report }: Parts, error: unknown): Response {
  const problem = problemFrom(error, report)
  return jsonOf(problemBody(problem), problem.status)
}

function jsonOf(value: unknown, status: number): Response {
  return jsonText(JSON.stringify(value), status)
}

function jsonText(text: string, status: number): Response {
  const headers = { ...securityHeaders(), 'content-type': 'application/json; charset=utf-8' }
  return new Response(text, { status, headers })
}

function notFound(): RequestProblem {
  return new RequestProblem(404, 'NOT_FOUND', 'There is nothing here.')
}

function tooLong(): RequestProblem {
  return new RequestProblem(414, 'TOO_LONG', `The address is longer than ${maxUrlLength} characters.`)
}

function paramsFrom({ path }: Route, context: Context): Params {
  return Object.fromEntries(
    paramsOf(path).map(name => {
      const value = context.req.param(name) ?? ''
      if (value === '' || value.length > maxParamLength || value.includes('\0') || /\p{Surrogate}/u.test(value)) {
        throw new RequestProblem(400, 'INVALID_REQUEST', `The ${name} in the address must be a short text.`)
      }
      return [name, value]
    }),
  )
}

/** A name that is given several times has an array. */
function queryOf(url: string): object {
  const query: Record<string, string | string[]> = Object.create(null)
  for (const [name, value] of new URL(url).searchParams) {
    const known = query[name]
    query[name] = known === undefined ? value : [known, value].flat()
  }
  return { ...query }
}

function parsed(schema: z.ZodType | undefined, value: unknown, where: 'query' | 'body'): unknown {
  if (schema === undefined) {
    if (where === 'body' || Object.keys(value as object).length === 0) return value
    throw new RequestProblem(400, 'INVALID_REQUEST', 'This route takes no query.')
  }
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const issues = result.error.issues.slice(0, 5).map(({ path, message }) => `${path.join('.') || where}: ${message}`)
  throw new RequestProblem(400, 'INVALID_REQUEST', `The ${where} is not what this route takes. ${issues.join('; ')}`)
}

/** What was asked for may still happen; nobody waits for it any longer. */
async function inTime<T>(work: Promise<T>, ms: number, remedy: string): Promise<T> {
  let cancel = () => {}
  const late = new Promise<never>((_, reject) => {
    const problem = new RequestProblem(503, 'TOO_SLOW', `No answer within ${ms} ms.`, remedy)
    cancel = callAfter(ms, () => reject(problem))
  })
  try {
    return await Promise.race([work, late])
  } finally {
    cancel()
    work.catch(() => {})
  }
}
