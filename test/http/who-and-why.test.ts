/**
 * Every mutation of the route table leaves a record of who asked for it and why: the list of mutations is the table's own, so
 * that none can be added without one.
 */
import { expect, it } from 'vitest'
import { routeTable } from '../../src/http/route-table.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { ApiClient, Approved, everything, Failing, Greeting, Orders, Stopping, Wide } from './http-world.ts'

forEachDatabase('every mutation', database => {
  const under = useGeneva(database, everything)
  const ann = () => new ApiClient(under.geneva, { authorize: () => ({ role: 'admin', by: 'ann' }) })
  const idOf = async (started: Promise<{ readonly id: string }>) => (await started).id

  async function letter(): Promise<string> {
    const { id } = await under.geneva.start(Failing, { hero: Orders.ref(1) })
    await under.runDue()
    return (await ann().get(`/dead-letters?workflow=${id}`)).body.items[0].id
  }

  async function stopped(): Promise<string> {
    const { id } = await under.geneva.start(Stopping)
    await under.runDue()
    return id
  }

  async function approval(): Promise<{ id: string; executionId: string }> {
    const { id } = await under.geneva.start(Approved, { hero: Orders.ref(1) })
    await under.runDue()
    const { items } = (await ann().get('/approvals')).body
    const { executionId } = items.find((item: { workflowId: string }) => item.workflowId === id)
    return { id, executionId }
  }

  /** For each route, where it is sent to and what it needs besides a reason. */
  const mutations: Readonly<Record<string, () => Promise<readonly [path: string, body?: object]>>> = {
    '/workflows': async () => ['/workflows', { type: 'wide' }],
    '/workflows/bulk': async () => {
      await under.geneva.start(Wide, {}, { tags: ['many'] })
      return ['/workflows/bulk', { filter: { tag: 'many' }, action: 'pause' }]
    },
    '/workflows/:id/pause': async () => [`/workflows/${await idOf(under.geneva.start(Wide))}/pause`],
    '/workflows/:id/resume': async () => [`/workflows/${await stopped()}/resume`],
    '/workflows/:id/cancel': async () => [`/workflows/${await idOf(under.geneva.start(Wide))}/cancel`],
    '/workflows/:id/abort': async () => [`/workflows/${await idOf(under.geneva.start(Wide))}/abort`],
    '/workflows/:id/nodes/:node/skip': async () => [`/workflows/${await stopped()}/nodes/trip/skip`],
    '/workflows/:id/nodes/:node/reattempt': async () => [`/workflows/${await stopped()}/nodes/trip/reattempt`],
    '/workflows/:id/nodes/:node/resolve': async () => [`/workflows/${await stopped()}/nodes/trip/resolve`],
    '/workflows/:id/nodes/:node/signal': async () => [`/workflows/${(await approval()).id}/nodes/delivered/signal`],
    '/executions/:id/decide': async () => [
      `/executions/${(await approval()).executionId}/decide`,
      { decision: 'rejected', data: { limit: 1 } },
    ],
    '/dead-letters/:id/requeue': async () => [`/dead-letters/${await letter()}/requeue`],
    '/dead-letters/:id/discard': async () => [`/dead-letters/${await letter()}/discard`],
    '/schedules/:name/pause': async () => ['/schedules/nightly/pause'],
    '/schedules/:name/resume': async () => ['/schedules/nightly/resume'],
    '/schedules/:name/trigger': async () => ['/schedules/nightly/trigger'],
    '/queues/:name/pause': async () => ['/queues/mail/pause'],
    '/queues/:name/resume': async () => ['/queues/mail/resume'],
    '/prune': async () => {
      await under.geneva.start(Greeting, { hero: Orders.ref(1), input: {} })
      await under.runDue()
      return ['/prune', { olderThanMs: 0 }]
    },
  }

  it('leaves who asked for it and why among the events of its workflow, or among the requests', async () => {
    const routes = routeTable().filter(({ method }) => method === 'POST')
    expect(Object.keys(mutations).toSorted()).toEqual(routes.map(({ path }) => path).toSorted())
    for (const [route, prepare] of Object.entries(mutations)) {
      const [path, body] = await prepare()
      const why = `because of ${route}`
      // What a person says to a decision is a comment.
      const reason = path.endsWith('/decide') ? { comment: why } : { reason: why }
      expect((await ann().post(path, { ...body, ...reason })).status, route).toBe(200)
      const events = (await ann().get('/events?last=1000&limit=1000')).body.items
      const requests = (await ann().get('/requests')).body.items
      const record = [...events, ...requests].find((item: { reason: string | null }) => item.reason === why)
      expect(record, route).toMatchObject({ by: 'ann' })
    }
  })
})
