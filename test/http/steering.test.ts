/** Steering over HTTP, on every database: every change is made, and recorded with who asked for it and why. */
import { expect, it } from 'vitest'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { gate } from '../support/wait-for.ts'
import { ApiClient, Approved, everything, Failing, Greeting, Orders, Stopping, Wide } from './http-world.ts'

forEachDatabase('steering over HTTP', database => {
  const under = useGeneva(database, everything)
  const ann = () => new ApiClient(under.geneva, { authorize: () => ({ role: 'admin', by: 'ann' }) })

  /** Who asked for the newest event of that type, and why. */
  async function asker(id: string, type: string) {
    const { body } = await ann().get(`/workflows/${id}/events?limit=1000`)
    const { by, reason } = body.items.findLast((event: { type: string }) => event.type === type)
    return { by, reason }
  }

  it('a workflow is started by name, once for each idempotency key, with a hero as ids of its kind are', async () => {
    await under.geneva.start(Greeting, { hero: Orders.ref(1), input: {} })
    const body = {
      type: 'greeting',
      hero: { type: 'Order', id: '55' },
      input: { name: 'Bo' },
      idempotencyKey: 'k',
      tags: ['t'],
      reason: 'by phone',
    }
    const started = await ann().post('/workflows', body)
    expect(started.body).toMatchObject({
      type: 'greeting',
      hero: { type: 'Order', id: '55' },
      tags: ['t'],
      idempotencyKey: 'k',
    })
    expect((await ann().post('/workflows', body)).body.id).toBe(started.body.id)
    expect((await ann().post('/workflows', { ...body, input: { name: 'Cy' } })).status).toBe(409)
    expect(await asker(started.body.id, 'workflow.started')).toEqual({ by: 'ann', reason: 'by phone' })
    await under.runDue()
    expect(await (await under.geneva.find(started.body.id))?.hero).toEqual({ type: 'Order', id: 55 })
    expect((await ann().post('/workflows', { type: 'nothing' })).status).toBe(404)
    expect((await ann().post('/workflows', { type: 'greeting', hero: { type: 'Cat', id: 1 } })).status).toBe(422)
  })

  it('a start takes as many tags as one in code', async () => {
    const tags = Array.from({ length: 51 }, (_, index) => `tag ${index}`)
    const start = (more: object) => ann().post('/workflows', { type: 'wide', ...more })
    const started = await start({ tags: tags.slice(0, 50) })
    expect([started.status, started.body.tags?.length]).toEqual([200, 50])
    expect((await start({ tags })).status).toBe(400)
  })

  it('a start that takes too long is said to happen perhaps, and with its key it happens once', async () => {
    const { geneva } = under
    const { startByName } = geneva
    const { passed, open } = gate()
    let late: ReturnType<typeof startByName> | undefined
    geneva.startByName = (...given) => {
      late = passed.then(() => startByName.apply(geneva, given))
      return late
    }
    const body = { type: 'greeting', hero: { type: 'Order', id: 57 }, idempotencyKey: 'late' }
    const hasty = new ApiClient(geneva, { authorize: () => ({ role: 'admin', by: 'ann' }), timeout: 1 })
    const { status, body: answer } = await hasty.post('/workflows', body)
    geneva.startByName = startByName
    expect([status, answer.error.code]).toEqual([503, 'TOO_SLOW'])
    expect(answer.error.remedy).toMatch(/may still happen.*Look before you ask again.*idempotencyKey/)
    open()
    const started = await late
    expect((await ann().post('/workflows', body)).body.id).toBe(started?.id)
    expect((await ann().get('/workflows/count?hero=Order:57')).body.count).toBe(1)
  })

  it('whether it may stand beside others is said with the start, and what a start does not know is refused', async () => {
    const start = (more: object) =>
      ann().post('/workflows', { type: 'greeting', hero: { type: 'Order', id: 56 }, delayMs: 1e6, ...more })
    const { body } = await start({ allowMultiple: false })
    expect((await start({ allowMultiple: true })).status).toBe(200)
    const refused = await start({ allowMultiple: false })
    expect([refused.status, refused.body.error.code]).toEqual([409, 'ALREADY_ACTIVE'])
    expect(refused.body.error.message).toContain(body.id)
    const misspelled = await start({ idempotencykey: 'once' })
    expect(misspelled.status).toBe(400)
    expect(misspelled.body.error.message).toContain('idempotencykey')
  })

  it('a workflow is paused, resumed, canceled and aborted', async () => {
    const { id } = await under.geneva.start(Wide)
    const paused = await ann().post(`/workflows/${id}/pause`, { reason: 'lunch' })
    expect(paused.body).toMatchObject({ state: 'paused', actions: ['resume', 'cancel', 'abort'] })
    expect(await asker(id, 'workflow.paused')).toEqual({ by: 'ann', reason: 'lunch' })
    expect((await ann().post(`/workflows/${id}/resume`, { reason: 'back' })).body.state).toBe('ready')
    expect(await asker(id, 'workflow.resumed')).toEqual({ by: 'ann', reason: 'back' })
    expect((await ann().post(`/workflows/${id}/cancel`, { reason: 'enough' })).body.state).toBe('canceled')
    expect(await asker(id, 'workflow.canceled')).toEqual({ by: 'ann', reason: 'enough' })
    expect((await ann().post(`/workflows/${id}/resume`)).status).toBe(409)
    const other = await under.geneva.start(Wide)
    expect((await ann().post(`/workflows/${other.id}/abort`, { reason: 'now' })).body.state).toBe('aborted')
    expect(await asker(other.id, 'workflow.aborted')).toEqual({ by: 'ann', reason: 'now' })
  })

  it('a failed node is attempted again, resolved with an output, or left out', async () => {
    const [first, second] = [await under.geneva.start(Stopping), await under.geneva.start(Stopping)]
    await under.runDue()
    expect((await ann().post(`/workflows/${first.id}/nodes/trip/reattempt`, { reason: 'again' })).status).toBe(200)
    await under.runDue()
    const output = { at: { $geneva: 'date', value: '2026-01-02T03:04:05.000Z' } }
    const resolved = await ann().post(`/workflows/${first.id}/nodes/trip/resolve`, { output, reason: 'by hand' })
    expect(resolved.body).toMatchObject({ state: 'finished', output })
    expect(await (await under.geneva.find(first.id))?.output('trip' as never)).toEqual({
      at: new Date('2026-01-02T03:04:05Z'),
    })
    expect((await ann().post(`/workflows/${second.id}/nodes/trip/skip`, { reason: 'no need' })).body.state).toBe(
      'finished',
    )
    expect(await asker(second.id, 'step.skipped')).toEqual({ by: 'ann', reason: 'no need' })
    expect((await ann().post(`/workflows/${second.id}/nodes/trip/skip`)).status).toBe(409)
  })

  it('people decide in their own name, and messages arrive', async () => {
    const { id } = await under.geneva.start(Approved, { hero: Orders.ref(3) })
    await under.runDue()
    const { body } = await ann().get('/approvals')
    const { executionId } = body.items.find((item: { workflowId: string }) => item.workflowId === id)
    const decide = (data: unknown) =>
      ann().post(`/executions/${executionId}/decide`, { decision: 'confirmed', data, comment: 'fine' })
    expect((await decide({ limit: 'much' })).status).toBe(422)
    expect((await decide({ limit: 5 })).body).toEqual({ ok: true })
    expect((await decide({ limit: 5 })).status).toBe(409)
    await under.runDue()
    await ann().post(`/workflows/${id}/nodes/delivered/signal`, { payload: { by: 'Bob' }, key: 'once' })
    await under.runDue()
    const detail = await ann().get(`/workflows/${id}`)
    expect(detail.body).toMatchObject({
      state: 'finished',
      decisions: [{ by: 'ann', decision: 'confirmed', comment: 'fine', data: { limit: 5 } }],
    })
    expect(await asker(id, 'signal.received')).toMatchObject({ by: 'ann' })
  })

  it('a dead letter is requeued with another input, or given up', async () => {
    const [first, second] = await under.geneva.startMany(Failing, [{ hero: Orders.ref(1) }, { hero: Orders.ref(2) }])
    await under.runDue()
    const letterOf = async (id = '') => (await ann().get(`/dead-letters?workflow=${id}`)).body.items[0].id
    expect((await ann().get(`/dead-letters/${await letterOf(first?.id)}`)).body.takesInput).toBe(true)
    const requeued = await ann().post(`/dead-letters/${await letterOf(first?.id)}/requeue`, {
      input: { card: 2 },
      reason: 'new card',
    })
    expect(requeued.body).toMatchObject({ state: 'requeued', handledBy: 'ann', handledReason: 'new card' })
    await under.runDue()
    expect((await ann().get(`/workflows/${first?.id}`)).body.state).toBe('finished')
    const discarded = await ann().post(`/dead-letters/${await letterOf(second?.id)}/discard`, {
      then: 'skip',
      reason: 'lost',
    })
    expect(discarded.body).toMatchObject({ state: 'discarded', handledBy: 'ann', handledReason: 'lost' })
    expect((await ann().get('/dead-letters?state=all')).body.items.length).toBeGreaterThanOrEqual(2)
  })

  it('many are changed at once, after a look at how many, and not if there are others by then', async () => {
    for (let i = 0; i < 4; i++)
      await under.geneva.start(Greeting, { hero: Orders.ref(900 + i), input: {} }, { tags: ['bulk'] })
    const request = { filter: { tag: 'bulk', type: 'greeting' }, action: 'cancel', reason: 'clean up' }
    const dry = await ann().post('/workflows/bulk', { ...request, dryRun: true })
    expect(dry.body).toMatchObject({ dryRun: true, count: 4, capped: false })
    expect(dry.body.sample).toHaveLength(4)
    expect((await ann().post('/workflows/bulk', { ...request, expect: 3 })).body.error.code).toBe('COUNT_CHANGED')
    const changed = await ann().post('/workflows/bulk', { ...request, expect: 4 })
    expect(changed.body).toEqual({ dryRun: false, found: 4, changed: 4, refused: [] })
    expect((await ann().get('/workflows/count?tag=bulk&state=canceled')).body.count).toBe(4)
    expect(await asker(dry.body.sample[0].id, 'workflow.canceled')).toEqual({ by: 'ann', reason: 'clean up' })
  })

  it('many are resolved with an output, requeued with an input, or discarded with what then becomes of them', async () => {
    const heroes = [950, 951, 952].map(id => ({ hero: Orders.ref(id) }))
    const change = (body: object) => ann().post('/workflows/bulk', { filter: { tag: 'letters' }, ...body })
    const stateOf = async (id = '') => (await ann().get(`/workflows/${id}`)).body.state
    const start = async () => {
      const [wf] = await under.geneva.startMany(Failing, heroes.splice(0, 1), { tags: ['letters'] })
      await under.runDue()
      return wf
    }
    const first = await start()
    expect((await change({ action: 'resolve', node: 'charge', output: { paid: 7 } })).body).toMatchObject({
      changed: 1,
    })
    expect(await first?.output('charge')).toEqual({ paid: 7 })
    const second = await start()
    expect((await change({ action: 'requeue', input: { card: 2 } })).body).toMatchObject({ changed: 1 })
    await under.runDue()
    expect(await stateOf(second?.id)).toBe('finished')
    const third = await start()
    expect((await change({ action: 'discard', then: 'abort' })).body).toMatchObject({ changed: 1 })
    expect(await stateOf(third?.id)).toBe('aborted')
    for (const extra of [{ then: 'skip' }, { output: 1 }, { input: 1 }]) {
      expect((await change({ action: 'pause', ...extra })).status).toBe(400)
    }
  })

  it('schedules and queues are paused with who and why, and go on', async () => {
    const paused = await ann().post('/schedules/nightly/pause', { reason: 'holidays' })
    expect(paused.body).toMatchObject({ paused: true, pausedBy: 'ann', pauseReason: 'holidays', nextAt: null })
    expect((await ann().post('/schedules/nightly/resume')).body.paused).toBe(false)
    const { workflowId } = (await ann().post('/schedules/nightly/trigger', { reason: 'early' })).body
    expect((await ann().get(`/workflows/${workflowId}`)).body.type).toBe('greeting')
    expect(await asker(workflowId, 'workflow.started')).toEqual({ by: 'ann', reason: 'early' })
    expect((await ann().post('/schedules/none/pause')).status).toBe(404)
    expect((await ann().post('/queues/default/pause', { reason: 'deploy' })).body).toEqual({ ok: true })
    const queue = async () =>
      (await ann().get('/queues')).body.items.find((each: { name: string }) => each.name === 'default')
    expect(await queue()).toMatchObject({ paused: true, pausedBy: 'ann', pauseReason: 'deploy' })
    await ann().post('/queues/default/resume')
    expect(await queue()).toMatchObject({ paused: false })
    expect((await ann().post('/prune', { olderThanMs: 1e12, dryRun: true })).body).toEqual({
      workflows: 0,
      complete: true,
    })
  })
})
