/** Who may do what: the matrix of every route and every role is made from the route table, so no route can be left out of it. */
import { describe, expect, it } from 'vitest'
import { paramsOf } from '../../src/http/route.ts'
import { routeTable } from '../../src/http/route-table.ts'
import type { Role } from '../../src/index.ts'
import { databases } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { ApiClient, everything } from './http-world.ts'

const table = routeTable()
const roles: readonly Role[] = ['reader', 'operator', 'admin']
const [database] = databases

describe.runIf(database !== undefined)('authorization', () => {
  const under = useGeneva(database as (typeof databases)[number], everything)

  function as(role: Role | null): ApiClient {
    return new ApiClient(under.geneva, { authorize: () => (role === null ? null : { role, by: role }) })
  }

  /** A request that would be let through to the route; what it is about does not exist. */
  async function send(api: ApiClient, { method, path }: { method: 'GET' | 'POST'; path: string }) {
    const address = path.replace(/:\w+/g, '4711')
    const response = await api.raw(`/api${address}`, {
      method,
      ...(method === 'POST' ? { body: '{"nonsense":true}', headers: { 'content-type': 'application/json' } } : {}),
    })
    const { status } = response
    await response.body?.cancel()
    return status
  }

  describe.each(table.map(route => ({ ...route, name: `${route.method} ${route.path}` })))('$name', route => {
    it('is closed to nobody in particular', async () => {
      expect(await send(as(null), route)).toBe(401)
    })

    it(`takes the role ${route.role}`, async () => {
      for (const role of roles) {
        const status = await send(as(role), route)
        if (roles.indexOf(role) >= roles.indexOf(route.role)) expect([401, 403]).not.toContain(status)
        else expect(status).toBe(403)
      }
    })
  })

  it('asks about each route with its action, its resource and its role', async () => {
    const claims: unknown[] = []
    const api = new ApiClient(under.geneva, {
      authorize: (_, claim) => {
        claims.push(claim)
        return null
      },
    })
    for (const route of table) await send(api, route)
    expect(claims).toEqual(
      table.map(({ action, resource, role, path }) => ({
        action,
        role,
        resource: paramsOf(path).reduce((text, name) => text.replace(`:${name}`, '4711'), resource),
      })),
    )
  })

  it('lets a reader change nothing, and an operator nothing that cannot be taken back', () => {
    const taking = (role: Role) => table.filter(route => route.role === role)
    expect(taking('reader').every(({ method }) => method === 'GET')).toBe(true)
    expect(table.filter(({ method }) => method === 'GET')).toEqual(taking('reader'))
    const admin = taking('admin').map(({ action }) => action)
    expect(admin.toSorted()).toEqual(
      [
        'dead-letter.discard',
        'queue.pause',
        'queue.resume',
        'workflow.abort',
        'workflow.bulk',
        'workflow.prune',
      ].toSorted(),
    )
  })

  it('makes everybody a reader where nothing may be changed', async () => {
    const api = new ApiClient(under.geneva, { readOnly: true })
    expect((await api.get('/me')).body).toEqual({ role: 'reader', by: 'local', readOnly: true })
    for (const route of table.filter(({ role }) => role !== 'reader')) expect(await send(api, route)).toBe(403)
  })

  it('sends what authorize answers itself, such as a way to sign in', async () => {
    const api = new ApiClient(under.geneva, { authorize: () => Response.redirect('http://localhost/login', 302) })
    expect((await api.raw('/api/me')).headers.get('location')).toBe('http://localhost/login')
  })

  it('refuses what nobody has declared, whatever the role', async () => {
    for (const path of ['/api', '/api/', '/api/nothing', '/api/workflows/1/delete', '/api/../api/secret', '/api//me']) {
      expect((await as('admin').raw(path)).status).toBe(403)
    }
    for (const method of ['PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      expect((await as('admin').raw('/api/workflows/1', { method })).status).toBe(403)
    }
    expect((await as('admin').raw('/api/overview', { method: 'POST' })).status).toBe(403)
  })

  it('reports an authorize that fails or answers nonsense, and tells the caller nothing of it', async () => {
    const before = under.errors.length
    const failing = new ApiClient(under.geneva, { authorize: () => Promise.reject(new Error('password for db is x')) })
    const odd = new ApiClient(under.geneva, { authorize: () => ({ role: 'root', by: 'x' }) as never })
    for (const api of [failing, odd]) {
      const answer = await api.get('/me')
      expect(answer.status).toBe(500)
      expect(answer.text).not.toContain('password')
    }
    expect(under.errors.slice(before)).toHaveLength(2)
  })
})
