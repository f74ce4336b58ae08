/** The handler in other people's servers: plain Node, middleware with a mount path and a body parser, and the dashboard's files. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Hono } from 'hono'
import { describe, expect, it } from 'vitest'
import { mountOnExpress } from '../../examples/mount/express.ts'
import { mountOnFastify } from '../../examples/mount/fastify.ts'
import { mountOnHono } from '../../examples/mount/hono.ts'
import { routeForNext } from '../../examples/mount/next.ts'
import { serveOnNode } from '../../examples/mount/node-http.ts'
import { DashboardFiles } from '../../src/http/dashboard-files.ts'
import { toNodeHandler } from '../../src/http.ts'
import { databases } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { ApiClient, everything } from './http-world.ts'

const [database] = databases

type Middleware = (request: any, response: ServerResponse, next: (error?: unknown) => void) => void

async function listening(
  listener: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<[Server, string]> {
  const server = createServer(listener)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return [server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`]
}

function closed(server: Server): Promise<void> {
  return new Promise(resolve => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}

describe.runIf(database !== undefined)('the handler', () => {
  const under = useGeneva(database as (typeof databases)[number], everything)

  it('answers in a plain server of Node, bodies and streams included', async () => {
    const [server, url] = await listening(toNodeHandler(under.geneva.handler()))
    expect((await fetch(`${url}/api/me`)).status).toBe(200)
    const paused = await fetch(`${url}/api/queues/mount/pause`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"reason":"a test"}',
    })
    expect(await paused.json()).toEqual({ ok: true })
    const stream = await fetch(`${url}/api/stream`)
    const reader = stream.body?.getReader()
    const { value } = (await reader?.read()) ?? {}
    expect(new TextDecoder().decode(value)).toContain('connected')
    await reader?.cancel()
    await closed(server)
  })

  it('gives the place of a stream back when its reader goes, and none to one that reads nothing', async () => {
    const [server, url] = await listening(toNodeHandler(under.geneva.handler({ maxStreams: 1 })))
    for (let i = 0; i < 3; i++) {
      expect((await fetch(`${url}/api/stream`, { method: 'HEAD' })).status).toBe(200)
      let stream = await fetch(`${url}/api/stream`)
      while (stream.status === 429) stream = await fetch(`${url}/api/stream`)
      expect(stream.status).toBe(200)
      await stream.body?.cancel()
    }
    await closed(server)
  })

  it('answers as middleware that is mounted under a path, behind a parser that has read the body', async () => {
    const handle = toNodeHandler(under.geneva.handler({ basePath: '/ops' })) as Middleware
    const parse: Middleware = (request, _, next) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        request.body = chunks.length === 0 ? {} : JSON.parse(Buffer.concat(chunks).toString())
        setImmediate(next)
      })
    }
    const mount: Middleware = (request, response, next) => {
      if (!request.url.startsWith('/ops')) return response.writeHead(418).end()
      request.originalUrl = request.url
      request.url = request.url.slice('/ops'.length) || '/'
      return handle(request, response, next)
    }
    const fail = (response: ServerResponse) => () => response.writeHead(500).end()
    const [server, url] = await listening((request, response) =>
      parse(request, response, () => mount(request, response, fail(response))),
    )
    expect((await fetch(`${url}/ops/api/me`)).status).toBe(200)
    expect((await fetch(`${url}/elsewhere`)).status).toBe(418)
    const reason = 'read before'
    const paused = await fetch(`${url}/ops/api/queues/parsed/pause`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ reason }),
    })
    expect(await paused.json()).toEqual({ ok: true })
    const queues = await under.geneva.queues.list()
    expect(queues).toContainEqual(expect.objectContaining({ name: 'parsed', pauseReason: reason, pausedBy: 'local' }))
    await closed(server)
  })

  it('is mounted by the examples under a path, for whoever authorize knows', async () => {
    const authorize = () => ({ role: 'reader', by: 'ann' }) as const
    const request = () => new Request('http://shop.example/ops/api/me')
    const expected = { role: 'reader', by: 'ann', readOnly: false }
    const hono = new Hono()
    mountOnHono(hono, under.geneva, authorize)
    expect(await (await hono.fetch(request())).json()).toEqual(expected)
    expect(await (await routeForNext(under.geneva, authorize).GET(request())).json()).toEqual(expected)
    for (const mount of [mountOnExpress, mountOnFastify]) {
      const mounted = new Map<string, Middleware>()
      mount({ use: (path, handler) => mounted.set(path, handler as Middleware) }, under.geneva, authorize)
      const [server, url] = await listening((incoming, response) => {
        const original = incoming.url ?? ''
        const cut = Object.assign(incoming, { originalUrl: original, url: original.slice('/ops'.length) })
        mounted.get('/ops')?.(cut, response, () => response.destroy())
      })
      expect(await (await fetch(`${url}/ops/api/me`)).json()).toEqual(expected)
      await closed(server)
    }
    const served = await serveOnNode(under.geneva, 39_000)
    expect((await fetch(`${served.url}/api/me`)).status).toBe(200)
    await served.close()
  })

  it('shows the page of the dashboard under every path that is no file, with its own base, and leads nowhere else', async () => {
    const api = new ApiClient(under.geneva, { basePath: '/ops' })
    const built = (await new DashboardFiles().answer('/', '/ops')) !== null
    const page = await api.raw('/workflows/12?tab=graph')
    expect(page.status).toBe(built ? 200 : 404)
    if (built) {
      expect(await page.text()).toContain('<base href="/ops/">')
      expect(page.headers.get('content-security-policy')).toContain("script-src 'self'")
    }
    for (const path of ['/assets/none.js', '/assets/../../package.json', '/assets/%2e%2e/%2e%2e/package.json']) {
      const answer = await api.raw(path)
      expect(await answer.text()).not.toContain('"devDependencies"')
    }
    expect((await new ApiClient(under.geneva, { dashboard: false }).raw('/')).status).toBe(404)
  })
})
