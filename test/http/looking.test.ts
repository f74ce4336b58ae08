/** Looking over HTTP, on every database: each answer is what its route declares, in pages that can be followed to the end. */
import { beforeAll, describe, expect, it } from 'vitest'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { ApiClient, Approved, everything, Failing, Greeting, Orders, Stopping, Wide } from './http-world.ts'

forEachDatabase('looking over HTTP', database => {
  const under = useGeneva(database, everything)
  const ids: Record<string, string> = {}
  let api: ApiClient

  beforeAll(async () => {
    const { geneva } = under
    api = new ApiClient(geneva)
    const started = {
      greeting: await geneva.start(Greeting, { hero: Orders.ref(7), input: { name: 'Ann' } }, { tags: ['vip'] }),
      failing: await geneva.start(Failing, { hero: Orders.ref(7) }),
      stopping: await geneva.start(Stopping),
      approved: await geneva.start(Approved, { hero: Orders.ref(8) }),
      wide: await geneva.start(Wide),
    }
    for (const [name, { id }] of Object.entries(started)) ids[name] = id
    for (let i = 0; i < 12; i++)
      await geneva.start(Greeting, { hero: Orders.ref(100 + i), input: {} }, { tags: ['many'] })
    await under.runDue()
  })

  describe('lists', () => {
    it('are followed page by page to the end, each workflow once', async () => {
      const seen: string[] = []
      let cursor = ''
      do {
        const { body } = await api.get(`/workflows?tag=many&limit=5${cursor}`)
        expect(body.items.length).toBeLessThanOrEqual(5)
        seen.push(...body.items.map((item: { id: string }) => item.id))
        cursor = body.nextCursor === null ? '' : `&cursor=${body.nextCursor}`
      } while (cursor !== '')
      expect(seen).toHaveLength(12)
      expect(new Set(seen).size).toBe(12)
      expect(seen).toEqual(seen.toSorted((a, b) => Number(b) - Number(a)))
    })

    it.each([
      ['state=dlq', ['failing']],
      ['state=paused', ['stopping']],
      ['state=active&type=wide', ['wide']],
      ['state=ready&type=wide&type=approved', ['wide', 'approved']],
      ['state=paused&state=dlq', ['stopping', 'failing']],
      ['state=finished&tag=vip', ['greeting']],
      ['hero=Order:7', ['failing', 'greeting']],
      ['hero=Order:8', ['approved']],
      ['q=8', ['approved']],
      ['at=trip', ['stopping']],
      ['at=approve', ['approved']],
      ['error=CARD+was', ['failing']],
      ['error=typeerror', ['stopping']],
      ['error=100%25', []],
      ['type=none', []],
      ['createdAfter=2100-01-01', []],
      ['createdBefore=2000-01-01T00:00:00Z', []],
      ['olderThanMs=3600000', []],
      ['newerThanMs=3600000&type=wide', ['wide']],
    ])('by %s find what fits', async (query, names) => {
      const { body } = await api.get(`/workflows?${query}`)
      const wanted = names.map(name => ids[name])
      const found = body.items.map((item: { id: string }) => item.id)
      expect(found.filter((id: string) => Object.values(ids).includes(id)).toSorted()).toEqual(wanted.toSorted())
      expect((await api.get(`/workflows/count?${query}`)).body).toEqual({ count: body.items.length, capped: false })
    })

    it('find a workflow by its id', async () => {
      const { body } = await api.get(`/workflows?q=${ids.wide}`)
      expect(body.items.map((item: { id: string }) => item.id)).toContain(ids.wide)
    })

    it('say where a workflow stands and what went wrong', async () => {
      const { body } = await api.get('/workflows?state=dlq')
      expect(body.items[0]).toMatchObject({
        id: ids.failing,
        type: 'failing',
        hero: { type: 'Order', id: '7' },
        state: 'dlq',
        at: ['charge'],
        error: 'charge: RangeError: the card was declined',
        endedAt: null,
        frozen: false,
      })
    })
  })

  describe('one workflow', () => {
    it('is shown with its payloads in the form in which they are stored', async () => {
      const { body } = await api.get(`/workflows/${ids.greeting}`)
      expect(body).toMatchObject({
        state: 'finished',
        input: { name: 'Ann' },
        output: 'hello Ann',
        tags: ['vip'],
        actions: [],
      })
      const history = await api.get(`/workflows/${ids.failing}/history`)
      expect(history.body.items[0]).toMatchObject({
        node: 'prepare',
        outcome: 'success',
        output: { at: { $geneva: 'date', value: '1970-01-01T00:00:00.000Z' } },
      })
    })

    it('has a history in pages, with errors and stacks', async () => {
      const first = await api.get(`/workflows/${ids.failing}/history?limit=1`)
      expect(first.body.nextCursor).toBe('1')
      const second = await api.get(`/workflows/${ids.failing}/history?limit=1&cursor=${first.body.nextCursor}`)
      expect(second.body.items[0]).toMatchObject({
        node: 'charge',
        error: { name: 'RangeError', message: 'the card was declined' },
      })
      expect(second.body.items[0].error.stack).toContain('RangeError')
    })

    it('has a graph with states, branches, compensations and folds', async () => {
      const { body } = await api.get(`/workflows/${ids.wide}/graph`)
      const box = body.nodes.find((node: { fold: unknown }) => node.fold !== null)
      expect(box).toMatchObject({ kind: 'item', fold: { count: 30, states: { completed: 30 } } })
      expect(body.folded).toBe(true)
      expect(body.edges).toContainEqual({ from: 'isBig', to: 'grow', kind: 'branch', label: 'then' })
      expect(body.nodes.find((node: { id: string }) => node.id === 'shrink')).toMatchObject({
        state: 'not_taken',
        branchOf: 'isBig',
      })
      const expanded = await api.get(`/workflows/${ids.wide}/graph?expand=${encodeURIComponent(box.id)}`)
      expect(expanded.body.nodes.filter((node: { kind: string }) => node.kind === 'item')).toHaveLength(30)
      expect(expanded.body.folded).toBe(false)
      const saga = await api.get(`/workflows/${ids.failing}/graph`)
      expect(saga.body.nodes).toContainEqual(
        expect.objectContaining({ id: 'undo:prepare', name: 'tidy', compensates: 'prepare' }),
      )
      expect(saga.body.edges).toContainEqual({ from: 'prepare', to: 'undo:prepare', kind: 'compensation', label: null })
    })

    it('says why it waits, what a cancel would undo, and how it is drawn', async () => {
      const explained = await api.get(`/workflows/${ids.approved}/explain`)
      expect(explained.body.sentence).toContain('approve')
      const rollback = await api.get(`/workflows/${ids.failing}/rollback`)
      expect(rollback.body.steps).toMatchObject([
        { step: 'charge', compensation: null },
        { step: 'prepare', compensation: 'tidy' },
      ])
      const drawing = await api.get(`/workflows/${ids.failing}/drawing?format=mermaid`)
      expect(drawing.body.drawing).toContain('graph TD')
      const picture = await api.get(`/workflows/${ids.failing}/drawing?format=svg`)
      expect(picture.body).toMatchObject({ format: 'svg', drawing: expect.stringMatching(/^<svg/) })
    })

    it('has events after a position', async () => {
      const all = await api.get(`/workflows/${ids.greeting}/events`)
      expect(all.body.items[0].type).toBe('workflow.started')
      const rest = await api.get(`/workflows/${ids.greeting}/events?after=${all.body.items[0].position}&limit=1`)
      expect(rest.body.items).toEqual([all.body.items[1]])
    })

    it('that does not exist is a 404', async () => {
      for (const path of ['', '/graph', '/history', '/events', '/explain', '/rollback', '/drawing']) {
        expect((await api.get(`/workflows/987654321${path}`)).status).toBe(404)
        expect((await api.get(`/workflows/no-such-id${path}`)).status).toBe(404)
      }
    })
  })

  it('a hero has all of its workflows and their events on one page', async () => {
    const { body } = await api.get('/heroes/Order/7')
    expect(body.workflows.map((workflow: { id: string }) => workflow.id).toSorted()).toEqual(
      [ids.failing, ids.greeting].toSorted(),
    )
    expect(new Set(body.events.map((event: { workflowId: string }) => event.workflowId)).size).toBe(2)
  })

  it('executions of all workflows are listed by state, class, node, queue and time, page by page', async () => {
    const nodes = async (query: string) =>
      (await api.get(`/executions?${query}`)).body.items.map(
        ({ workflowId, node, state }: Record<string, string>) => `${workflowId} ${node} ${state}`,
      )
    expect(await nodes('state=waiting')).toEqual([`${ids.approved} approve waiting`])
    expect(await nodes('state=scheduled&type=wide')).toEqual([`${ids.wide} rest scheduled`])
    expect(await nodes('due=false&queue=default&node=rest')).toEqual([`${ids.wide} rest scheduled`])
    expect(await nodes('due=true')).toEqual([])
    expect((await nodes('state=failed&state=canceled')).toSorted()).toEqual(
      [`${ids.stopping} trip failed`, `${ids.failing} charge failed`].toSorted(),
    )
    const seen: string[] = []
    let cursor = ''
    do {
      const { body } = await api.get(`/executions?state=completed&type=wide&node=items&limit=7${cursor}`)
      seen.push(...body.items.map((item: { id: string }) => item.id))
      cursor = body.nextCursor === null ? '' : `&cursor=${encodeURIComponent(body.nextCursor)}`
    } while (cursor !== '')
    expect(new Set(seen).size).toBe(31)
    const first = (await api.get('/executions?limit=1')).body
    expect(first.nextCursor).toMatch(/^\d+\//)
    const second = await api.get(`/executions?limit=1&cursor=${encodeURIComponent(first.nextCursor)}`)
    expect(second.body.items[0].id).not.toBe(first.items[0].id)
    expect((await api.get('/executions?state=running')).status).toBe(400)
    expect((await api.get('/executions?due=maybe')).status).toBe(400)
    expect((await api.get('/executions?state=failed&queue=default')).status).toBe(400)
    expect((await api.get('/executions?step=rest')).status).toBe(400)
  })

  it('what waits for people is listed with prompt and form', async () => {
    const { body } = await api.get('/approvals')
    expect(body.items).toHaveLength(1)
    expect(body.items[0]).toMatchObject({
      workflowId: ids.approved,
      node: 'approve',
      prompt: 'Is it good?',
      assignTo: ['editors'],
      quorum: 1,
      form: { type: 'object', properties: { limit: { type: 'number' } } },
    })
    expect(new Date(body.items[0].deadline).getTime()).toBeGreaterThan(new Date(body.items[0].waitingSince).getTime())
  })

  it('dead letters are listed and shown', async () => {
    const { body } = await api.get('/dead-letters')
    expect(body.items).toMatchObject([{ workflowId: ids.failing, node: 'charge', error: { name: 'RangeError' } }])
    expect((await api.get(`/dead-letters/${body.items[0].id}`)).body).toMatchObject({ node: 'charge', input: null })
    expect((await api.get('/dead-letters/123456')).status).toBe(404)
  })

  it('the overview counts, and knows queues, letters, approvals and the last hour', async () => {
    const { body } = await api.get('/overview')
    expect(body.states).toMatchObject({ finished: 13, dlq: 1, paused: 1, ready: 2, performing: 0 })
    expect(body).toMatchObject({ capped: false, deadLetters: 1, approvals: 1 })
    const total = (name: string) =>
      body.series.reduce((sum: number, point: Record<string, number>) => sum + (point[name] ?? 0), 0)
    expect(total('started')).toBe(17)
    expect(total('finished')).toBe(13)
    expect(total('failed')).toBeGreaterThanOrEqual(2)
    expect(body.series.some((point: { p95: number | null }) => point.p95 !== null)).toBe(true)
  })

  it('definitions are drawn before they run', async () => {
    const { body } = await api.get('/definitions')
    expect(body.items.map((each: { type: string }) => each.type)).toContain('failing')
    const one = await api.get('/definitions/failing')
    expect(one.body.graph.nodes[0]).toMatchObject({ id: 'prepare', state: null })
    expect((await api.get('/definitions/none')).status).toBe(404)
  })

  it('schedules, queues, workers, events, health, metrics and the document are there', async () => {
    expect((await api.get('/schedules')).body.items).toMatchObject([{ name: 'nightly', workflow: 'greeting' }])
    expect((await api.get('/queues')).body.items).toContainEqual(expect.objectContaining({ name: 'default' }))
    expect((await api.get('/workers')).status).toBe(200)
    const events = await api.get('/events?limit=3')
    expect(events.body.items).toHaveLength(3)
    const next = await api.get(`/events?limit=3&after=${events.body.nextCursor}`)
    expect(Number(next.body.items[0].position)).toBeGreaterThan(Number(events.body.items[2].position))
    expect((await api.get('/events?last=5&type=step.completed')).status).toBe(200)
    expect((await api.get('/health')).body.live).toBe(true)
    expect((await api.get('/metrics')).text).toContain('geneva_')
    expect((await api.get('/openapi.json')).body.paths['/api/workflows/{id}'].get['x-role']).toBe('reader')
    expect((await api.get('/me')).body).toEqual({ role: 'admin', by: 'local', readOnly: false })
  })
})
