/** What every request is held to: where it may come from, what it may hold, and what a browser may do with the answer. */
import { describe, expect, it } from 'vitest'
import { isLoopbackAddress, isLoopbackHost } from '../../src/http/loopback.ts'
import { serveHandler, toNodeHandler } from '../../src/http.ts'
import { InvalidArgumentError } from '../../src/index.ts'
import { databases } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { ApiClient, everything, Greeting, Orders } from './http-world.ts'

const [database] = databases

describe.runIf(database !== undefined)('requests', () => {
  const under = useGeneva(database as (typeof databases)[number], everything)
  const local = () => new ApiClient(under.geneva)
  const known = () => new ApiClient(under.geneva, { authorize: () => ({ role: 'admin', by: 'ann' }) })
  const json = { 'content-type': 'application/json' }

  it.each(['localhost', 'localhost:80', '127.0.0.1:3000', '[::1]:4000', 'app.localhost'])(
    'without authorize are answered under the name %s',
    async host => {
      expect((await local().get('/me', { host })).status).toBe(200)
    },
  )

  it.each([
    [{ host: 'evil.example' }],
    [{ host: 'localhost.evil.example' }],
    [{ host: '127.0.0.1.evil.example' }],
    [{ host: '10.0.0.1' }],
    [{ host: 'localhost', 'x-forwarded-for': '8.8.8.8' }],
    [{ host: 'localhost', forwarded: 'for=8.8.8.8' }],
  ])('without authorize are refused with %j', async headers => {
    for (const path of ['/api/me', '/api/nothing', '/']) {
      const response = await local().raw(path, { headers })
      expect(response.status).toBe(403)
      expect(await response.text()).toContain('LOCAL_ONLY')
    }
    expect((await known().get('/me', headers as Record<string, string>)).status).toBe(200)
  })

  it('without authorize are refused by a handler that is called directly, whatever name they give', async () => {
    const handler = under.geneva.handler({ basePath: '/ops' })
    for (const url of ['http://localhost/ops/api/me', 'http://127.0.0.1/ops/api/nothing', 'http://shop.example/ops/']) {
      const response = await handler(new Request(url, { headers: { host: 'localhost' } }))
      expect(response.status).toBe(403)
      const { error } = (await response.json()) as { error: { code: string; remedy: string } }
      expect(error.code).toBe('LOCAL_ONLY')
      expect(error.remedy).toContain('authorize')
    }
  })

  it.each(['10.0.0.7', '::ffff:10.0.0.7', ''])(
    'without authorize are refused over a connection from %j, whatever name they give',
    remoteAddress => {
      const statuses: number[] = []
      const response = { writeHead: (status: number) => statuses.push(status), end: () => {} }
      const request = { socket: { remoteAddress }, headers: { host: 'localhost' } }
      toNodeHandler(under.geneva.handler())(request as never, response as never)
      expect(statuses).toEqual([403])
    },
  )

  it.each([
    [{ origin: 'https://evil.example' }, 403],
    [{ origin: 'null' }, 403],
    [{ 'sec-fetch-site': 'cross-site' }, 403],
    [{ 'sec-fetch-site': 'same-site' }, 403],
    [{ origin: 'http://localhost:4000', 'sec-fetch-site': 'same-origin' }, 200],
    [{ 'sec-fetch-site': 'none' }, 200],
    [{}, 200],
  ])('that change something are held to their origin: %j gives %i', async (headers, status) => {
    for (const api of [local(), known()]) {
      expect((await api.post('/queues/origin/resume', {}, headers as Record<string, string>)).status).toBe(status)
    }
  })

  it('that change something are JSON, not too large, not too deep, and hold nothing that is not known', async () => {
    const api = new ApiClient(under.geneva, { maxBodyBytes: 1000 })
    const send = (body: string, headers: Record<string, string> = json) =>
      api.raw('/api/queues/body/resume', { method: 'POST', body, headers }).then(response => response.status)
    expect(await send('{}')).toBe(200)
    expect(await send('')).toBe(200)
    expect(await send('{}', { 'content-type': 'text/plain' })).toBe(415)
    expect(await send('reason=x', { 'content-type': 'application/x-www-form-urlencoded' })).toBe(415)
    expect(await send('{}', {})).toBe(415)
    expect(await send('{')).toBe(400)
    expect(await send('[]')).toBe(400)
    expect(await send('null')).toBe(400)
    expect(await send('{"reasons":"x"}')).toBe(400)
    expect(await send('{"__proto__":{"role":"admin"}}')).toBe(400)
    expect(await send(`{"reason":"${'x'.repeat(1000)}"}`)).toBe(413)
    expect(await send(`{"reason":${'['.repeat(400)}${']'.repeat(400)}}`)).toBe(400)
    const chunks = new ReadableStream<Uint8Array>({
      pull: controller => controller.enqueue(new TextEncoder().encode('[['.repeat(300))),
    })
    const endless = { method: 'POST', body: chunks, headers: json, duplex: 'half' } as RequestInit
    expect((await api.raw('/api/queues/body/resume', endless)).status).toBe(413)
  })

  it('that look are refused for a misspelled filter instead of showing everything', async () => {
    expect((await local().get('/workflows?sate=paused')).status).toBe(400)
    expect((await local().get('/workflows?state=pausd')).status).toBe(400)
    expect((await local().get('/workflows?limit=100000')).status).toBe(400)
    expect((await local().get('/overview?x=1')).status).toBe(400)
    expect((await local().get(`/workflows?q=${'x'.repeat(9000)}`)).status).toBe(414)
  })

  it('that take too long are given up', async () => {
    const authorize = async () => ({ role: 'admin', by: 'ann' }) as const
    const api = new ApiClient(under.geneva, { authorize, timeout: 1 })
    const { geneva } = under
    const explain = geneva.explain
    geneva.explain = () => new Promise(() => {})
    try {
      const { error } = (await api.get('/workflows/1/explain')).body
      expect(error).toMatchObject({ code: 'TOO_SLOW', remedy: 'Ask for less, or try again.' })
    } finally {
      geneva.explain = explain
    }
  })

  it('that meet an error of ours hear an id and no more; onError hears everything', async () => {
    const { geneva } = under
    const explain = geneva.explain
    geneva.explain = async () => {
      throw new Error('select * from geneva_drive_secrets failed at /srv/app/db.ts:3')
    }
    const before = under.errors.length
    const { status, text, body } = await local().get('/workflows/1/explain')
    geneva.explain = explain
    expect(status).toBe(500)
    expect(text).not.toMatch(/select|secrets|srv|\.ts/)
    const told = under.errors.slice(before).map(({ error }) => error as Error)
    expect(told).toHaveLength(1)
    const [id = 'none'] = /[0-9a-f-]{36}/.exec(body.error.message) ?? []
    expect(told.map(({ message }) => message)).toEqual([expect.stringContaining(id)])
    expect(told.map(({ cause }) => String(cause))).toEqual([expect.stringContaining('secrets')])
  })

  it('get answers that a browser may neither sniff, frame, cache, share nor run', async () => {
    const answers = [
      await local().raw('/api/me'),
      await local().raw('/api/nothing'),
      await local().raw('/api/workflows/1'),
    ]
    for (const { headers } of answers) {
      expect(headers.get('content-security-policy')).toContain("default-src 'none'")
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('x-frame-options')).toBe('DENY')
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.get('cross-origin-resource-policy')).toBe('same-origin')
      expect([...headers.keys()].filter(name => name.startsWith('access-control'))).toEqual([])
      expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
    }
  })

  it('are answered under the path of the mount alone', async () => {
    const authorize = () => ({ role: 'reader', by: 'ann' }) as const
    const handler = under.geneva.handler({ basePath: '/ops/geneva/', authorize })
    expect((await handler(new Request('http://localhost/ops/geneva/api/me'))).status).toBe(200)
    expect((await handler(new Request('http://localhost/api/me'))).status).toBe(404)
    expect(() => under.geneva.handler({ basePath: 'ops' })).toThrow(InvalidArgumentError)
    expect(() => under.geneva.handler({ autorize: () => null } as never)).toThrow('there is no option')
    expect(() => under.geneva.handler({ maxStreams: 0 })).toThrow(InvalidArgumentError)
  })

  it('reach a server on this machine, and no other address is listened to without authorize', async () => {
    await under.geneva.start(Greeting, { hero: Orders.ref(1), input: {} })
    const served = await serveHandler(under.geneva.handler(), { port: 0 })
    try {
      expect((await fetch(`${served.url}/api/me`)).status).toBe(200)
    } finally {
      await served.close()
    }
    await expect(serveHandler(under.geneva.handler(), { port: 0, host: '0.0.0.0' })).rejects.toThrow('authorize')
    const open = await serveHandler(under.geneva.handler({ authorize: () => null }), { port: 0, host: '0.0.0.0' })
    expect((await fetch(`http://127.0.0.1:${open.port}/api/me`)).status).toBe(401)
    await open.close()
  })
})

it('addresses of this machine are told from all others', () => {
  for (const address of ['127.0.0.1', '127.9.8.7', '::1', '::ffff:127.0.0.1'])
    expect(isLoopbackAddress(address)).toBe(true)
  for (const address of ['', '10.0.0.1', '::', '0.0.0.0', '1::1', '127.0.0.1.example']) {
    expect(isLoopbackAddress(address)).toBe(false)
    expect(isLoopbackHost(address)).toBe(false)
  }
})
